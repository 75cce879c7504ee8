import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ROLL as FORMER_ROLL } from './1795600000402-create-usage-aggregates';

/**
 * Rare requests are found without reading the hours of all others: failures by their hours, operations by theirs. Both
 * indexes are on the totals, which no request writes; `usage_delta`, which they all write, gets none.
 */
export class IndexUsageFilters1795700008030 implements MigrationInterface {
  readonly name = 'IndexUsageFilters1795700008030';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX usage_by_model_failures_index ON usage_by_model (organization_id, starts_at)
        WHERE span = 'hour' AND outcome <> 'success';
      CREATE INDEX usage_by_model_operations_index ON usage_by_model (organization_id, operation, starts_at)
        WHERE span = 'hour';
    `);
    await runner.query(ROLL);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX usage_by_model_failures_index, usage_by_model_operations_index');
    await runner.query(FORMER_ROLL.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
  }
}

const SUMS = `sum(requests), bit_or(CASE span WHEN 'hour' THEN minutes END), sum(input_tokens), sum(output_tokens),
  sum(charged_micro)`;
const ADDED = `
  requests = total.requests + excluded.requests, minutes = total.minutes | excluded.minutes,
  input_tokens = total.input_tokens + excluded.input_tokens,
  output_tokens = total.output_tokens + excluded.output_tokens,
  charged_micro = total.charged_micro + excluded.charged_micro`;

/**
 * `usage_roll` as its first version (CreateUsageAggregates), but for the way to the deltas: through the index. The table
 * is never shortened, so that a scan from its beginning reads every page that the largest flood of requests has left
 * empty.
 */
const ROLL = `
  CREATE OR REPLACE FUNCTION usage_roll(p_limit integer) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
  DECLARE
    v_count integer;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('usage_roll')) THEN
      RETURN 0;
    END IF;
    WITH taken AS (
      DELETE FROM usage_delta
       WHERE ctid = ANY (ARRAY(SELECT ctid FROM usage_delta ORDER BY organization_id, hour LIMIT p_limit)) RETURNING *
    ), by_model AS (
      INSERT INTO usage_by_model AS total
        SELECT organization_id, span, date_trunc(span, hour, 'UTC'), model, operation, outcome, ${SUMS}
          FROM taken, (VALUES ('hour'), ('day')) spans (span) GROUP BY 1, 2, 3, 4, 5, 6
      ON CONFLICT (organization_id, span, starts_at, model, operation, outcome) DO UPDATE SET ${ADDED}
    ), by_key AS (
      INSERT INTO usage_by_key AS total
        SELECT organization_id, span, date_trunc(span, hour, 'UTC'), key_id, outcome, ${SUMS}
          FROM taken, (VALUES ('hour'), ('day')) spans (span) GROUP BY 1, 2, 3, 4, 5
      ON CONFLICT (organization_id, span, starts_at, key_id, outcome) DO UPDATE SET ${ADDED}
    )
    SELECT count(*) INTO v_count FROM taken;
    RETURN v_count;
  END $$`;
