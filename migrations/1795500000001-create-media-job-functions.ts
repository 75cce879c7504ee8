import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The two moments of a job that move money, each one transaction and one round trip. */
export class CreateMediaJobFunctions1795500000001 implements MigrationInterface {
  readonly name = 'CreateMediaJobFunctions1795500000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SUBMIT);
    await runner.query(FINISH);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION media_job_submit, media_job_finish');
  }
}

/**
 * `media_job_submit`: idempotency record in its final form, hold, and queued job (whose row is what wakes a worker), or
 * none of them.
 *
 * - The account's lock comes first, as in all money functions. A twin waits there, then finds the record of the first:
 *   there is no "in progress" for a submission. The primary key of the record stays the last word.
 * - `answer`: A accepted (or repeated with the same id), R the key has another job, F it was used for another body; else
 *   the refusal of `money_reserve`. With A and R come the `body` and the `headers` that every answer to this key has.
 * - The body is text around a gap for the time of creation, which only the database knows. It is kept however much the
 *   organization has stored: without it, a repeated submission would have no answer.
 * - The hold outlasts the job by an hour, so that whatever ends the job finds it.
 */
const SUBMIT = `
  CREATE FUNCTION media_job_submit(
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
            'application/json; charset=utf-8', p_headers, 0, true, v_now, v_now, v_now + interval '24 hours');
    INSERT INTO idempotency_body (reservation_id, organization_id, head, bytes, created_at)
    VALUES (p_id, p_organization, body, octet_length(body), v_now);
    INSERT INTO idempotency_storage AS s (organization_id, stored_bytes) VALUES (p_organization, octet_length(body))
    ON CONFLICT (organization_id) DO UPDATE SET stored_bytes = s.stored_bytes + excluded.stored_bytes;

    INSERT INTO media_job (id, organization_id, key_id, kind, model, estimated_cost_micro, max_cost_micro, params, settings,
                           route, webhook_url, metadata, next_run_at, created_at, expires_at)
    VALUES (p_id, p_organization, p_key, p_kind, p_model, p_hold, p_max_cost, p_params, p_settings, p_route, p_webhook_url,
            p_metadata, v_now, v_now, v_now + make_interval(secs => p_ttl));
  END $$`;

/**
 * `media_job_finish`: the one way into a final state. The job's end, the end of its hold, artifacts, receipt and
 * what has to be told of it are one transaction; nothing at all happens when the job is not what the caller believes:
 *
 * - its status is none of `p_from`: somebody else has ended it;
 * - its fence is not `p_fence`: another worker has taken it over (`NULL`: the caller is no worker);
 * - its version is not `p_version`: it has changed since the caller looked (`NULL`: no matter);
 * - it is to succeed and nobody was finalizing it; to be canceled while the provider's result is being fetched (at most
 *   60 seconds); to expire before its time.
 *
 * Answers the job as it is then, or no row. Charges never more than the hold. A hold that somebody else has ended is
 * broken books: the transaction fails, and the auditor finds the job.
 *
 * Locks the job, then the account: submission takes the account first, but its job is not there for others yet.
 */
const FINISH = `
  CREATE FUNCTION media_job_finish(
    p_id uuid, p_status text, p_from text[], p_fence integer, p_version integer, p_cost bigint,
    p_error_code text, p_error_message text, p_artifacts jsonb, p_record jsonb,
    p_now timestamptz DEFAULT clock_timestamp()
  ) RETURNS SETOF media_job LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := date_trunc('milliseconds', p_now);
    v_job media_job;
    v_answer text;
  BEGIN
    UPDATE media_job j
       SET status = p_status, completed_at = v_now, version = j.version + 1, lease_owner = NULL, lease_until = NULL,
           cost_micro = CASE p_status WHEN 'succeeded' THEN LEAST(GREATEST(p_cost, 0), j.estimated_cost_micro) ELSE 0 END,
           progress = CASE WHEN p_status = 'succeeded' AND j.progress IS NOT NULL THEN 100 ELSE j.progress END,
           error_code = p_error_code, error_message = p_error_message,
           cancel_due_at = CASE WHEN p_status IN ('canceled', 'expired') AND j.provider_handle IS NOT NULL THEN v_now END
     WHERE j.id = p_id AND j.status = ANY (p_from)
       AND (p_fence IS NULL OR j.fence = p_fence)
       AND (p_version IS NULL OR j.version = p_version)
       AND CASE p_status WHEN 'succeeded' THEN j.finalizing_at IS NOT NULL
                         WHEN 'canceled' THEN COALESCE(j.finalizing_at <= p_now - interval '60 seconds', true)
                         WHEN 'expired' THEN j.expires_at <= p_now
                         ELSE true END
    RETURNING * INTO v_job;
    IF NOT FOUND THEN
      RETURN;
    END IF;

    v_answer := money_finish(
      ARRAY[p_id], ARRAY[v_job.organization_id],
      ARRAY[CASE p_status WHEN 'succeeded' THEN 'settled' WHEN 'expired' THEN 'expired' ELSE 'released' END],
      ARRAY[v_job.cost_micro], jsonb_build_array(p_record), v_now);
    IF split_part(v_answer, ',', 1) <> 'A' THEN
      RAISE EXCEPTION 'the hold of job % is not there to be ended (%)', p_id, v_answer USING ERRCODE = 'check_violation';
    END IF;

    INSERT INTO media_artifact (job_id, position, type, content_type, size_bytes, width, height, duration_seconds,
                                storage_key, created_at)
      SELECT p_id, n - 1, a->>'type', a->>'contentType', (a->>'sizeBytes')::bigint, (a->>'width')::integer,
             (a->>'height')::integer, (a->>'durationSeconds')::double precision, a->>'storageKey', v_now
        FROM jsonb_array_elements(p_artifacts) WITH ORDINALITY AS artifact (a, n);

    IF v_job.webhook_url IS NOT NULL AND p_status IN ('succeeded', 'failed') THEN
      INSERT INTO webhook_delivery (job_id, organization_id, event, url, target_host, next_at, created_at)
      VALUES (p_id, v_job.organization_id,
              CASE p_status WHEN 'succeeded' THEN 'job.completed' ELSE 'job.failed' END, v_job.webhook_url,
              COALESCE(substring(lower(v_job.webhook_url) FROM '^https://(\\[[^]]*\\]|[^/?#:]*)'), ''), v_now, v_now);
    END IF;
    RETURN NEXT v_job;
  END $$`;
