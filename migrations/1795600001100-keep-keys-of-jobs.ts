import type { MigrationInterface, QueryRunner } from 'typeorm';
import { CreateMediaJobFunctions1795500000001 } from './1795500000001-create-media-job-functions';

/**
 * The key of a submission is remembered for a day, as all keys are, and for as long as its job may take, which can be a week
 * (`JOB_TTL_SECONDS`): else a submission that is repeated later makes, and charges, a second job beside the first.
 */
export class KeepKeysOfJobs1795600001100 implements MigrationInterface {
  readonly name = 'KeepKeysOfJobs1795600001100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SUBMIT);
  }

  async down(runner: QueryRunner): Promise<void> {
    const functions = new CreateMediaJobFunctions1795500000001();
    await functions.down(runner);
    await functions.up(runner);
  }
}

/**
 * `media_job_submit` as it was, but for the time of its record: a minute more than the job's, in which one that has expired
 * is ended. All that its first version says of it holds (CreateMediaJobFunctions).
 */
const SUBMIT = `
  CREATE OR REPLACE FUNCTION media_job_submit(
    p_id uuid, p_organization uuid, p_key uuid, p_kind text, p_model text, p_hold bigint, p_max_cost bigint,
    p_params json, p_settings json, p_route text[], p_webhook_url text, p_metadata json, p_ttl integer,
    p_operation text, p_idempotency_key text, p_fingerprint text, p_headers jsonb, p_body_head text, p_body_tail text,
    p_now timestamptz DEFAULT clock_timestamp(),
    OUT answer text, OUT body bytea, OUT headers jsonb
  ) LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := date_trunc('milliseconds', p_now);
    v_known idempotency_record;
  BEGIN
    PERFORM 1 FROM organization_account a WHERE a.organization_id = p_organization FOR UPDATE;

    DELETE FROM idempotency_record d
     WHERE d.organization_id = p_organization AND d.operation = p_operation AND d.key = p_idempotency_key
       AND d.state = 'completed' AND d.expires_at <= p_now;
    SELECT * INTO v_known FROM idempotency_record d
     WHERE d.organization_id = p_organization AND d.operation = p_operation AND d.key = p_idempotency_key;
    IF FOUND THEN
      answer := CASE WHEN v_known.fingerprint <> decode(p_fingerprint, 'hex') THEN 'F'
                     WHEN v_known.reservation_id = p_id THEN 'A' ELSE 'R' END;
      IF answer <> 'F' THEN
        headers := v_known.headers;
        SELECT b.head INTO body FROM idempotency_body b WHERE b.reservation_id = v_known.reservation_id;
      END IF;
      RETURN;
    END IF;

    answer := money_reserve(ARRAY[p_id], ARRAY[p_organization], ARRAY[p_key], ARRAY[p_hold], ARRAY[p_ttl + 3600],
                            'media_job', v_now);
    IF answer <> 'A' THEN
      RETURN;
    END IF;

    headers := p_headers;
    body := convert_to(p_body_head || to_char(v_now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || p_body_tail,
                       'UTF8');
    INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id, state, status,
                                    content_type, headers, charged_micro, body_stored, created_at, completed_at, expires_at)
    VALUES (p_organization, p_operation, p_idempotency_key, decode(p_fingerprint, 'hex'), p_id, 'completed', 202,
            'application/json; charset=utf-8', p_headers, 0, true, v_now, v_now,
            v_now + GREATEST(interval '24 hours', make_interval(secs => p_ttl + 60)));
    INSERT INTO idempotency_body (reservation_id, organization_id, head, bytes, created_at)
    VALUES (p_id, p_organization, body, octet_length(body), v_now);
    INSERT INTO idempotency_storage AS s (organization_id, stored_bytes) VALUES (p_organization, octet_length(body))
    ON CONFLICT (organization_id) DO UPDATE SET stored_bytes = s.stored_bytes + excluded.stored_bytes;

    INSERT INTO media_job (id, organization_id, key_id, kind, model, estimated_cost_micro, max_cost_micro, params, settings,
                           route, webhook_url, metadata, next_run_at, created_at, expires_at)
    VALUES (p_id, p_organization, p_key, p_kind, p_model, p_hold, p_max_cost, p_params, p_settings, p_route, p_webhook_url,
            p_metadata, v_now, v_now, v_now + make_interval(secs => p_ttl));
  END $$`;
