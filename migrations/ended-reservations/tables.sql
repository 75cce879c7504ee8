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
