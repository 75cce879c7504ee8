-- Balances, budget windows, holds, ended reservations and the ledger. The constraints repeat what the money functions guarantee, so that a
-- mistake in a function is a failed transaction and not a wrong balance.
--
-- Reservations and ledger entries have no foreign key to the account: checking one would lock the hot row once per inserted
-- row. The auditor reports what a foreign key would have refused.

-- A low fill factor: these rows change with every request, and an update that stays on its page touches no index.
-- `monthly_limit_micro` is the lower one of the operator's and the organization's own limit; the money functions read it.
CREATE TABLE organization_account (
  organization_id uuid NOT NULL,
  balance_micro bigint NOT NULL DEFAULT 0,
  reserved_micro bigint NOT NULL DEFAULT 0,
  monthly_limit_micro bigint,
  operator_monthly_limit_micro bigint,
  own_monthly_limit_micro bigint,
  CONSTRAINT organization_account_pkey PRIMARY KEY (organization_id),
  CONSTRAINT organization_account_reserved_check CHECK (reserved_micro >= 0),
  CONSTRAINT organization_account_available_check CHECK (balance_micro >= reserved_micro),
  CONSTRAINT organization_account_monthly_limit_check CHECK (
    operator_monthly_limit_micro >= 0 AND own_monthly_limit_micro >= 0
    AND monthly_limit_micro IS NOT DISTINCT FROM LEAST(operator_monthly_limit_micro, own_monthly_limit_micro)
  )
) WITH (fillfactor = 50);

-- `scope`: 1 organization and month, 2 key and day, 3 key and month; UTC.
CREATE TABLE spend_window (
  scope smallint NOT NULL,
  scope_id uuid NOT NULL,
  window_start date NOT NULL,
  spent_micro bigint NOT NULL DEFAULT 0,
  reserved_micro bigint NOT NULL DEFAULT 0,
  CONSTRAINT spend_window_pkey PRIMARY KEY (scope, scope_id, window_start),
  CONSTRAINT spend_window_scope_check CHECK (scope IN (1, 2, 3)),
  CONSTRAINT spend_window_spent_check CHECK (spent_micro >= 0),
  CONSTRAINT spend_window_reserved_check CHECK (reserved_micro >= 0)
) WITH (fillfactor = 50);
CREATE INDEX spend_window_start_index ON spend_window (scope, window_start);

-- One row per running process: the lease that keeps its reservations from being swept.
CREATE TABLE gateway_instance (
  id text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  steady_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  version text,
  CONSTRAINT gateway_instance_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);

-- What is held now. A hold is deleted when it ends. The table is vacuumed often and never truncated, because that would lock out
-- the money functions.
--
-- `owner`: the instance, or `media_job`: no process owns these holds, they end only with their job, and they never charge
-- more than they hold. `keyed`: an idempotency record names this reservation. The windows of a hold are those of `created_at`.
CREATE TABLE hold (
  amount_micro bigint NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  key_id uuid NOT NULL,
  keyed boolean NOT NULL,
  owner text NOT NULL,
  CONSTRAINT hold_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT hold_amount_check CHECK (amount_micro >= 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_threshold = -1, vacuum_truncate = false);

-- Charges and postings share the sequence: its order is that of the booking.
CREATE SEQUENCE ledger_entry_sequence;

-- How each reservation ended, written once. A settled one with a charge is the ledger's entry of that charge: `entry_id`, and
-- the balance that it left. The partitions are the UTC days of the ids, UUIDv7. The id comes first in the primary key, so that
-- rows are appended to it also with many organizations, and a day is a range of it.
CREATE TABLE ended_reservation (
  amount_micro bigint NOT NULL,
  charged_micro bigint,
  uncollected_micro bigint NOT NULL,
  entry_id bigint,
  balance_after_micro bigint,
  created_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  is_job boolean NOT NULL,
  state text NOT NULL,
  CONSTRAINT ended_reservation_pkey PRIMARY KEY (id, organization_id),
  CONSTRAINT ended_reservation_amount_check CHECK (amount_micro >= 0),
  CONSTRAINT ended_reservation_state_check CHECK (state IN ('settled', 'released', 'expired')),
  CONSTRAINT ended_reservation_charge_check CHECK (
    (state = 'settled') = (charged_micro IS NOT NULL) AND COALESCE(charged_micro, 0) >= 0
  ),
  CONSTRAINT ended_reservation_uncollected_check CHECK (
    uncollected_micro >= 0 AND (uncollected_micro = 0 OR state = 'settled')
  ),
  CONSTRAINT ended_reservation_entry_check CHECK (
    (entry_id IS NOT NULL) = (COALESCE(charged_micro, 0) > 0) AND (balance_after_micro IS NULL OR entry_id IS NOT NULL)
  ),
  CONSTRAINT ended_reservation_job_check CHECK (
    NOT is_job OR (COALESCE(charged_micro, 0) <= amount_micro AND uncollected_micro = 0)
  )
) PARTITION BY RANGE (id);
CREATE INDEX ended_reservation_entry_index ON ended_reservation (organization_id, ended_at, entry_id)
  WHERE entry_id IS NOT NULL;

-- Entries that are no charges: payments, refunds and adjustments. Every row names both of its accounts and a positive amount,
-- so debits and credits always match; append-only.
CREATE TABLE ledger_posting (
  id bigint NOT NULL DEFAULT nextval('ledger_entry_sequence'),
  organization_id uuid NOT NULL,
  kind text NOT NULL,
  debit_account text NOT NULL,
  credit_account text NOT NULL,
  amount_micro bigint NOT NULL,
  organization_delta_micro bigint NOT NULL,
  balance_after_micro bigint,
  external_reference text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ledger_posting_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT ledger_posting_amount_check CHECK (amount_micro > 0),
  CONSTRAINT ledger_posting_delta_check CHECK (
    (credit_account = 'organization' AND debit_account <> 'organization' AND organization_delta_micro = amount_micro)
    OR (debit_account = 'organization' AND credit_account <> 'organization' AND organization_delta_micro = -amount_micro)
  ),
  CONSTRAINT ledger_posting_kind_check CHECK (
    (kind = 'topup' AND debit_account = 'cash') OR (kind = 'refund' AND credit_account = 'cash')
    OR (kind = 'adjust' AND 'adjustment' IN (debit_account, credit_account))
  )
);
ALTER SEQUENCE ledger_entry_sequence OWNED BY ledger_posting.id;
CREATE UNIQUE INDEX ledger_posting_reference_index ON ledger_posting (organization_id, kind, external_reference);
CREATE INDEX ledger_posting_time_index ON ledger_posting (organization_id, created_at, id);

-- One row that all processes share: the outcome of the last audit and the time of the next one. `failed_at` and `failure`
-- are those of the latest audit when it did not complete, and NULL once one completes.
CREATE TABLE ledger_audit (
  id boolean NOT NULL DEFAULT true,
  next_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  completed_at timestamptz,
  duration_ms bigint,
  violation_count integer,
  violations jsonb NOT NULL DEFAULT '[]',
  failed_at timestamptz,
  failure text,
  CONSTRAINT ledger_audit_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_audit_id_check CHECK (id),
  CONSTRAINT ledger_audit_completed_check CHECK (num_nulls(completed_at, duration_ms, violation_count) IN (0, 3)),
  CONSTRAINT ledger_audit_failed_check CHECK (num_nulls(failed_at, failure) IN (0, 2))
);
INSERT INTO ledger_audit DEFAULT VALUES;
