-- Balances, budget windows, reservations and the ledger. The constraints repeat what the money functions guarantee, so that a
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

-- One row per running process: the lease that keeps its reservations from being swept.
CREATE TABLE gateway_instance (
  id text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  steady_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  version text,
  CONSTRAINT gateway_instance_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);

-- `owner`: the instance, or `media_job`: no process owns these holds, they end only with their job, and they never charge
-- more than they hold. `keyed`: an idempotency record names this reservation.
CREATE TABLE reservation (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'held',
  amount_micro bigint NOT NULL,
  charged_micro bigint,
  uncollected_micro bigint NOT NULL DEFAULT 0,
  day date NOT NULL,
  month date NOT NULL,
  owner text NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  keyed boolean NOT NULL DEFAULT false,
  CONSTRAINT reservation_pkey PRIMARY KEY (id),
  CONSTRAINT reservation_amount_check CHECK (amount_micro >= 0),
  CONSTRAINT reservation_uncollected_check CHECK (
    uncollected_micro >= 0 AND (uncollected_micro = 0 OR state = 'settled')
  ),
  CONSTRAINT reservation_state_check CHECK (
    (state = 'held' AND charged_micro IS NULL AND ended_at IS NULL)
    OR (state = 'settled' AND charged_micro IS NOT NULL AND charged_micro >= 0 AND ended_at IS NOT NULL)
    OR (state IN ('released', 'expired') AND charged_micro IS NULL AND ended_at IS NOT NULL)
  ),
  CONSTRAINT reservation_job_charge_check CHECK (
    owner <> 'media_job' OR (COALESCE(charged_micro, 0) <= amount_micro AND uncollected_micro = 0)
  )
) WITH (fillfactor = 80);
CREATE INDEX reservation_held_index ON reservation (expires_at) WHERE state = 'held';

-- Every row names both of its accounts and a positive amount, so debits and credits always match; append-only.
CREATE TABLE ledger_entry (
  id bigint GENERATED ALWAYS AS IDENTITY,
  organization_id uuid NOT NULL,
  kind text NOT NULL,
  debit_account text NOT NULL,
  credit_account text NOT NULL,
  amount_micro bigint NOT NULL,
  organization_delta_micro bigint NOT NULL,
  reservation_id uuid,
  external_reference text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ledger_entry_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_entry_amount_check CHECK (amount_micro > 0),
  CONSTRAINT ledger_entry_delta_check CHECK (
    (credit_account = 'organization' AND debit_account <> 'organization' AND organization_delta_micro = amount_micro)
    OR (debit_account = 'organization' AND credit_account <> 'organization' AND organization_delta_micro = -amount_micro)
  ),
  CONSTRAINT ledger_entry_kind_check CHECK (
    (kind = 'charge' AND credit_account = 'revenue' AND reservation_id IS NOT NULL AND external_reference IS NULL)
    OR (kind = 'topup' AND debit_account = 'cash' AND reservation_id IS NULL AND external_reference IS NOT NULL)
    OR (kind = 'refund' AND credit_account = 'cash' AND reservation_id IS NULL AND external_reference IS NOT NULL)
    OR (kind = 'adjust' AND 'adjustment' IN (debit_account, credit_account) AND reservation_id IS NULL
        AND external_reference IS NOT NULL)
  )
);
CREATE UNIQUE INDEX ledger_entry_charge_index ON ledger_entry (reservation_id) WHERE kind = 'charge';
CREATE UNIQUE INDEX ledger_entry_reference_index ON ledger_entry (organization_id, kind, external_reference)
  WHERE external_reference IS NOT NULL;
CREATE INDEX ledger_entry_organization_index ON ledger_entry (organization_id, created_at, id);
-- Entries other than charges are rare; this index finds them without reading the charges.
CREATE INDEX ledger_entry_movement_index ON ledger_entry (organization_id, kind, created_at, id) WHERE kind <> 'charge';

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
