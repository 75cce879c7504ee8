import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  CompleteKeysInMoneyFinish1795300000022,
  DECISIONS,
  DECLARATIONS,
  ENDINGS,
} from './1795300000022-complete-keys-in-money-finish';

/**
 * Receipts also tell each attempt of a request that needed more than one, and what chose the row of its price besides the
 * counts. Most requests have neither: their records end before these two values, and their rows hold NULL.
 */
export class RecordAttempts1795600000401 implements MigrationInterface {
  readonly name = 'RecordAttempts1795600000401';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE usage_record ADD COLUMN attempt_log jsonb, ADD COLUMN priced_by jsonb');
    await runner.query(`
      CREATE OR REPLACE FUNCTION money_finish(
        p_ids uuid[], p_organizations uuid[], p_outcomes text[], p_actuals bigint[], p_records jsonb DEFAULT NULL,
        p_now timestamptz DEFAULT clock_timestamp(), p_completions jsonb DEFAULT NULL
      ) RETURNS text LANGUAGE plpgsql
      SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
      SET jit = off SET plan_cache_mode = force_generic_plan
      AS $$${DECLARATIONS}${DECISIONS}${ENDINGS}${RECEIPTS}$$
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await new CompleteKeysInMoneyFinish1795300000022().up(runner);
    await runner.query('ALTER TABLE usage_record DROP COLUMN attempt_log, DROP COLUMN priced_by');
  }
}

/** All that its first version says of it holds (CreateMoneyFinish). */
const RECEIPTS = `
    IF p_records IS NOT NULL THEN
      INSERT INTO usage_record (id, organization_id, hold_micro, charged_micro, uncollected_micro, created_at,
        key_id, operation, model, provider, deployment_id, price_version_id, status, error_code, streamed,
        usage_estimated, attempts, first_token_ms, total_ms,
        input_text, input_cache_read, input_cache_write_5m, input_cache_write_1h, input_image, input_audio,
        output_text, output_reasoning, output_image, output_audio, images, seconds, characters,
        attempt_log, priced_by)
      SELECT p_ids[n], p_organizations[n], v_amounts[n], v_charged[n], v_uncollected[n], p_now,
        (v->>0)::uuid, v->>1, v->>2, v->>3, v->>4, v->>5,
        CASE WHEN v_answers[n] LIKE 'A%' THEN (v->>6)::smallint ELSE 503 END,
        CASE WHEN v_answers[n] LIKE 'A%' THEN v->>7 ELSE 'service_unavailable' END, (v->>8)::boolean,
        (v->>9)::boolean, (v->>10)::integer, (v->>11)::integer, (v->>12)::integer,
        (v->>13)::bigint, (v->>14)::bigint, (v->>15)::bigint, (v->>16)::bigint, (v->>17)::bigint, (v->>18)::bigint,
        (v->>19)::bigint, (v->>20)::bigint, (v->>21)::bigint, (v->>22)::bigint, (v->>23)::bigint,
        (v->>24)::double precision, (v->>25)::bigint,
        NULLIF(v->26, 'null'), NULLIF(v->27, 'null')
        FROM jsonb_array_elements(p_records) WITH ORDINALITY AS record (v, n)
       WHERE jsonb_typeof(v) = 'array'
      ON CONFLICT (id) DO NOTHING;
    END IF;
    RETURN array_to_string(v_answers, ',');
  END `;
