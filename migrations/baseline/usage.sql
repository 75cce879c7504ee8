-- Receipts and their totals, so that no report reads the receipts.

-- The receipt of each request, written once, in the transaction that ends the request's reservation. `attempt_log` and
-- `priced_by` are NULL for most requests. `digest` covers all other columns (`usage_record_digest`). The
-- partitions are the UTC days of the ids, UUIDv7.
CREATE TABLE usage_record (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  price_version_id text,
  hold_micro bigint NOT NULL,
  charged_micro bigint NOT NULL,
  uncollected_micro bigint NOT NULL,
  input_text bigint NOT NULL,
  input_cache_read bigint NOT NULL,
  input_cache_write_5m bigint NOT NULL,
  input_cache_write_1h bigint NOT NULL,
  input_image bigint NOT NULL,
  input_audio bigint NOT NULL,
  output_text bigint NOT NULL,
  output_reasoning bigint NOT NULL,
  output_image bigint NOT NULL,
  output_audio bigint NOT NULL,
  images bigint NOT NULL,
  characters bigint NOT NULL,
  seconds double precision NOT NULL,
  first_token_ms integer,
  total_ms integer NOT NULL,
  attempts integer NOT NULL,
  status smallint NOT NULL,
  streamed boolean NOT NULL,
  usage_estimated boolean NOT NULL,
  operation text NOT NULL,
  model text NOT NULL,
  provider text,
  deployment_id text,
  error_code text,
  attempt_log jsonb,
  priced_by jsonb,
  digest bytea,
  CONSTRAINT usage_record_pkey PRIMARY KEY (organization_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX usage_record_organization_time_index ON usage_record (organization_id, created_at);

-- Since when receipts have digests (`sealed_since`), from when on they are complete (`kept_since`), and from when on their
-- latencies are counted (`latency_since`; NULL: all). Retention appends a row when it moves `kept_since`, so that no process
-- waits for another; the greatest value counts.
CREATE TABLE receipt_history (
  id bigint GENERATED ALWAYS AS IDENTITY,
  kept_since timestamptz NOT NULL,
  sealed_since timestamptz,
  latency_since timestamptz,
  CONSTRAINT receipt_history_pkey PRIMARY KEY (id)
);
INSERT INTO receipt_history (kept_since, sealed_since) VALUES ('-infinity', clock_timestamp());

-- What the receipts of the last seconds add to the totals: one row per group of an inserting statement, in its transaction
-- and without a lock that others could wait for. `usage_roll` folds these rows into the totals. A reader adds totals and
-- deltas in one statement and so counts every committed receipt exactly once.
--
-- `hour` and `starts_at` are the beginning of an hour or a day in UTC. `outcome` is `success`, an error code, or `canceled`
-- after a disconnect. Bit n of `minutes` is set when there is a request in minute n of the hour: lists use it to find the
-- few requests that pass a filter (README of src/billing/usage). Totals of days have none. `latency` counts the latencies of
-- successful requests (`usage_latency_sum`).
--
-- The table is vacuumed often and never truncated, because that would lock out the money functions; through its index,
-- readers skip the pages that a flood has left empty.
CREATE TABLE usage_delta (
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  hour timestamptz NOT NULL,
  model text NOT NULL,
  operation text NOT NULL,
  outcome text NOT NULL,
  requests bigint NOT NULL,
  minutes bigint,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  charged_micro bigint NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  latency bigint[],
  CONSTRAINT usage_delta_pkey PRIMARY KEY (organization_id, hour, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_threshold = -1, vacuum_truncate = false);

-- Totals by model and by key are separate, because an organization has far more combinations of both than of either.
CREATE TABLE usage_by_model (
  organization_id uuid NOT NULL,
  span text NOT NULL,
  starts_at timestamptz NOT NULL,
  model text NOT NULL,
  operation text NOT NULL,
  outcome text NOT NULL,
  requests bigint NOT NULL,
  minutes bigint,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  charged_micro bigint NOT NULL,
  latency bigint[],
  CONSTRAINT usage_by_model_pkey PRIMARY KEY (organization_id, span, starts_at, model, operation, outcome),
  CONSTRAINT usage_by_model_span_check CHECK (span IN ('hour', 'day'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX usage_by_model_hours_index ON usage_by_model (organization_id, model, starts_at) WHERE span = 'hour';
-- Rare requests are found without reading the hours of all others.
CREATE INDEX usage_by_model_failures_index ON usage_by_model (organization_id, starts_at)
  WHERE span = 'hour' AND outcome <> 'success';
CREATE INDEX usage_by_model_operations_index ON usage_by_model (organization_id, operation, starts_at)
  WHERE span = 'hour';
-- Totals of all organizations together.
CREATE INDEX usage_by_model_time_index ON usage_by_model (span, starts_at);

CREATE TABLE usage_by_key (
  organization_id uuid NOT NULL,
  span text NOT NULL,
  starts_at timestamptz NOT NULL,
  key_id uuid NOT NULL,
  outcome text NOT NULL,
  requests bigint NOT NULL,
  minutes bigint,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  charged_micro bigint NOT NULL,
  CONSTRAINT usage_by_key_pkey PRIMARY KEY (organization_id, span, starts_at, key_id, outcome),
  CONSTRAINT usage_by_key_span_check CHECK (span IN ('hour', 'day'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX usage_by_key_hours_index ON usage_by_key (organization_id, key_id, starts_at) WHERE span = 'hour';
