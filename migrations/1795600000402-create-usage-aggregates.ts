import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a request adds to the figures of its organization, so that no report reads the receipts.
 *
 * Inserting receipts appends one row to `usage_delta` for each group of them, in the same transaction and without a lock
 * that others could wait for. `usage_roll` folds those rows into `usage_by_model` and `usage_by_key`. A reader adds up
 * the totals and the deltas, in one statement: it sees every committed receipt exactly once, however far the folding is.
 */
export class CreateUsageAggregates1795600000402 implements MigrationInterface {
  readonly name = 'CreateUsageAggregates1795600000402';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(ROLL);
    await runner.query(PRUNE);
    // Before what is there is counted: from here to the commit nobody else can insert.
    await runner.query(TRIGGER);
    await runner.query(`INSERT INTO usage_delta ${groupsOf('usage_record')}`);
    await runner.query('SELECT usage_roll(2147483647)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER usage_record_is_counted ON usage_record;
      DROP FUNCTION usage_record_is_counted(), usage_roll(integer), usage_prune(timestamptz, integer);
      DROP TABLE usage_by_model, usage_by_key, usage_delta;
    `);
  }
}

/**
 * `hour` and `starts_at` are the beginning of an hour or a day in UTC. `outcome` is `success`, an error code, or
 * `canceled` of who left without one. Bit n of `minutes` is set when there is a request in minute n of the hour: that is
 * how a list finds the few requests that a filter leaves (README of src/billing/usage). Totals of days have none.
 *
 * Totals by model and by key are apart, since an organization has far more of their combinations than of either.
 *
 * `usage_delta` holds what the last seconds have brought. It is vacuumed often, and never shortened, because that would
 * lock out the money functions; its index keeps readers from looking at the pages that a flood has left empty.
 */
const COUNTS = `
  requests bigint NOT NULL,
  minutes bigint,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  charged_micro bigint NOT NULL`;

const TABLES = `
  CREATE TABLE usage_delta (
    organization_id uuid NOT NULL,
    key_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    model text NOT NULL,
    operation text NOT NULL,
    outcome text NOT NULL,
    ${COUNTS}
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
          autovacuum_vacuum_insert_threshold = -1, vacuum_truncate = false);
  CREATE INDEX usage_delta_organization_index ON usage_delta (organization_id, hour);

  CREATE TABLE usage_by_model (
    organization_id uuid NOT NULL,
    span text NOT NULL,
    starts_at timestamptz NOT NULL,
    model text NOT NULL,
    operation text NOT NULL,
    outcome text NOT NULL,
    ${COUNTS},
    CONSTRAINT usage_by_model_pkey PRIMARY KEY (organization_id, span, starts_at, model, operation, outcome),
    CONSTRAINT usage_by_model_span_check CHECK (span IN ('hour', 'day'))
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX usage_by_model_hours_index ON usage_by_model (organization_id, model, starts_at) WHERE span = 'hour';

  CREATE TABLE usage_by_key (
    organization_id uuid NOT NULL,
    span text NOT NULL,
    starts_at timestamptz NOT NULL,
    key_id uuid NOT NULL,
    outcome text NOT NULL,
    ${COUNTS},
    CONSTRAINT usage_by_key_pkey PRIMARY KEY (organization_id, span, starts_at, key_id, outcome),
    CONSTRAINT usage_by_key_span_check CHECK (span IN ('hour', 'day'))
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX usage_by_key_hours_index ON usage_by_key (organization_id, key_id, starts_at) WHERE span = 'hour';
`;

/** The values of `usage_delta` for the receipts in a table. */
function groupsOf(table: string): string {
  return `
    SELECT organization_id, key_id, date_trunc('hour', created_at, 'UTC'), model, operation,
           CASE WHEN status < 400 THEN 'success' ELSE COALESCE(error_code, 'canceled') END,
           count(*), bit_or(1::bigint << extract(minute FROM created_at AT TIME ZONE 'UTC')::integer),
           sum(input_text + input_cache_read + input_cache_write_5m + input_cache_write_1h + input_image + input_audio),
           sum(output_text + output_reasoning + output_image + output_audio), sum(charged_micro)
      FROM ${table} GROUP BY 1, 2, 3, 4, 5, 6`;
}

const TRIGGER = `
  CREATE FUNCTION usage_record_is_counted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO usage_delta ${groupsOf('inserted')};
    RETURN NULL;
  END $$;
  CREATE TRIGGER usage_record_is_counted AFTER INSERT ON usage_record
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION usage_record_is_counted();
`;

const SUMS = `sum(requests), bit_or(CASE span WHEN 'hour' THEN minutes END), sum(input_tokens), sum(output_tokens),
  sum(charged_micro)`;
const ADDED = `
  requests = total.requests + excluded.requests, minutes = total.minutes | excluded.minutes,
  input_tokens = total.input_tokens + excluded.input_tokens,
  output_tokens = total.output_tokens + excluded.output_tokens,
  charged_micro = total.charged_micro + excluded.charged_micro`;

/**
 * `usage_roll`: folds at most `p_limit` deltas; answers how many. One statement, hence all of it or nothing. One process
 * at a time: others have nothing to do, since they could only wait for the same rows. Rows are found by their place:
 * nobody else removes any, and a place is not used again before its row is vacuumed.
 */
export const ROLL = `
  CREATE FUNCTION usage_roll(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    v_count integer;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('usage_roll')) THEN
      RETURN 0;
    END IF;
    WITH taken AS (
      DELETE FROM usage_delta WHERE ctid = ANY (ARRAY(SELECT ctid FROM usage_delta LIMIT p_limit)) RETURNING *
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

/**
 * `usage_prune`: forgets at most `p_limit` receipts of before `p_before`; answers how many. What they added to the totals
 * stays. Each organization is looked at through its index, and rows that another process is removing are passed over.
 */
const PRUNE = `
  CREATE FUNCTION usage_prune(p_before timestamptz, p_limit integer) RETURNS integer LANGUAGE plpgsql
  SET enable_seqscan = off
  AS $$
  DECLARE
    v_count integer;
  BEGIN
    DELETE FROM usage_record WHERE id = ANY (ARRAY(
      SELECT old.id
        FROM organization o,
             LATERAL (SELECT r.id FROM usage_record r
                       WHERE r.organization_id = o.id AND r.created_at < p_before
                       ORDER BY r.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED) old
       LIMIT p_limit));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
  END $$`;
