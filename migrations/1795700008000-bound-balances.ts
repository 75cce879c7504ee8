import type { MigrationInterface, QueryRunner } from 'typeorm';
import { POST as FORMER_POST } from './1795200000015-create-money-corrections';

/**
 * No balance grows past 2^53 - 1 micro-units, the largest integer that every JSON client reads exactly: `money_post`
 * answers `too_large`, and a trigger refuses whatever does not go through it. A trigger and not a constraint, because an
 * account that is already past the limit must still be able to spend.
 */
export class BoundBalances1795700008000 implements MigrationInterface {
  readonly name = 'BoundBalances1795700008000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(POST);
    await runner.query(TRIGGER);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER organization_account_stays_exact ON organization_account;
      DROP FUNCTION organization_account_stays_exact();
    `);
    await runner.query(FORMER_POST.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
  }
}

/** The rest is as its first version says (CreateMoneyCorrections). Sums are numeric: those of bigint could overflow. */
const POST = `
  CREATE OR REPLACE FUNCTION money_post(p_organization uuid, p_kind text, p_delta bigint, p_reference text)
  RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    v_balance numeric;
    v_reserved numeric;
    v_known_delta bigint;
    v_counterpart text := CASE p_kind WHEN 'adjust' THEN 'adjustment' ELSE 'cash' END;
  BEGIN
    SELECT a.balance_micro, a.reserved_micro INTO v_balance, v_reserved
      FROM organization_account a WHERE a.organization_id = p_organization FOR UPDATE;
    IF NOT FOUND THEN RETURN 'unknown_organization'; END IF;

    SELECT l.organization_delta_micro INTO v_known_delta FROM ledger_entry l
     WHERE l.organization_id = p_organization AND l.kind = p_kind AND l.external_reference = p_reference;
    IF FOUND THEN RETURN CASE WHEN v_known_delta = p_delta THEN 'repeated' ELSE 'conflict' END; END IF;
    IF v_balance - v_reserved + p_delta < 0 THEN RETURN 'insufficient'; END IF;
    IF p_delta > 0 AND v_balance + p_delta > 9007199254740991 THEN RETURN 'too_large'; END IF;

    INSERT INTO ledger_entry (organization_id, kind, debit_account, credit_account, amount_micro,
                              organization_delta_micro, external_reference)
    VALUES (p_organization, p_kind,
            CASE WHEN p_delta > 0 THEN v_counterpart ELSE 'organization' END,
            CASE WHEN p_delta > 0 THEN 'organization' ELSE v_counterpart END,
            abs(p_delta), p_delta, p_reference);
    UPDATE organization_account a SET balance_micro = a.balance_micro + p_delta
     WHERE a.organization_id = p_organization;
    RETURN 'applied';
  END $$`;

const TRIGGER = `
  CREATE FUNCTION organization_account_stays_exact() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'the balance of % would be too large', NEW.organization_id USING ERRCODE = 'check_violation';
  END $$;
  CREATE TRIGGER organization_account_stays_exact BEFORE UPDATE OF balance_micro ON organization_account
    FOR EACH ROW WHEN (NEW.balance_micro > OLD.balance_micro AND NEW.balance_micro > 9007199254740991)
    EXECUTE FUNCTION organization_account_stays_exact();
`;
