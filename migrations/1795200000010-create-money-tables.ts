import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Balances, spending windows, reservations and the ledger. The constraints repeat what the money functions promise, so
 * that a mistake in a function is a failed transaction and not a wrong balance.
 *
 * Reservations and ledger entries have no foreign key to the account: checking one locks the hot row once per inserted
 * row. The auditor view finds what a foreign key would have refused.
 */
export class CreateMoneyTables1795200000010 implements MigrationInterface {
  readonly name = 'CreateMoneyTables1795200000010';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ACCOUNT_AND_WINDOWS);
    await runner.query(RESERVATION);
    await runner.query(LEDGER);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE ledger_entry, reservation, spend_window, organization_account;
      DROP FUNCTION ledger_entry_is_append_only(), reservation_ends_once();
    `);
  }
}

/** Half-empty pages: these rows change with every request, and an update that stays on its page touches no index. */
const ACCOUNT_AND_WINDOWS = `
  CREATE TABLE organization_account (
    organization_id uuid NOT NULL,
    balance_micro bigint NOT NULL DEFAULT 0,
    reserved_micro bigint NOT NULL DEFAULT 0,
    monthly_limit_micro bigint,
    CONSTRAINT organization_account_pkey PRIMARY KEY (organization_id),
    CONSTRAINT organization_account_reserved_check CHECK (reserved_micro >= 0),
    CONSTRAINT organization_account_available_check CHECK (balance_micro >= reserved_micro),
    CONSTRAINT organization_account_monthly_limit_check CHECK (monthly_limit_micro >= 0)
  ) WITH (fillfactor = 50);

  CREATE TABLE spend_window (
    -- 1 organization and month, 2 key and day, 3 key and month; UTC
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
`;

const RESERVATION = `
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
    CONSTRAINT reservation_pkey PRIMARY KEY (id),
    CONSTRAINT reservation_amount_check CHECK (amount_micro >= 0),
    CONSTRAINT reservation_uncollected_check CHECK (uncollected_micro >= 0 AND (uncollected_micro = 0 OR state = 'settled')),
    CONSTRAINT reservation_state_check CHECK (
      (state = 'held' AND charged_micro IS NULL AND ended_at IS NULL)
      OR (state = 'settled' AND charged_micro IS NOT NULL AND charged_micro >= 0 AND ended_at IS NOT NULL)
      OR (state IN ('released', 'expired') AND charged_micro IS NULL AND ended_at IS NOT NULL)
    )
  ) WITH (fillfactor = 80);
  CREATE INDEX reservation_held_index ON reservation (expires_at) WHERE state = 'held';

  CREATE FUNCTION reservation_ends_once() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF OLD.state <> 'held' AND TG_OP = 'UPDATE' THEN
      RAISE EXCEPTION 'reservation % has ended (%)', OLD.id, OLD.state USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
      RAISE EXCEPTION 'reservation % is held', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.id, NEW.organization_id, NEW.key_id, NEW.amount_micro, NEW.day, NEW.month, NEW.owner, NEW.created_at)
       IS DISTINCT FROM
       (OLD.id, OLD.organization_id, OLD.key_id, OLD.amount_micro, OLD.day, OLD.month, OLD.owner, OLD.created_at) THEN
      RAISE EXCEPTION 'reservation % is immutable but for its end', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER reservation_ends_once BEFORE UPDATE ON reservation
    FOR EACH ROW EXECUTE FUNCTION reservation_ends_once();
  CREATE TRIGGER reservation_held_stays BEFORE DELETE ON reservation
    FOR EACH ROW WHEN (OLD.state = 'held') EXECUTE FUNCTION reservation_ends_once();
`;

/** Every row names both of its accounts and a positive amount: the books balance by shape. */
const LEDGER = `
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

  CREATE FUNCTION ledger_entry_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'check_violation';
  END $$;
  CREATE TRIGGER ledger_entry_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_is_append_only();
`;
