import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The rare movements of money: credits by hand or by payment, voiding a hold of unknown fate, sweeping orphans. */
export class CreateMoneyCorrections1795200000015 implements MigrationInterface {
  readonly name = 'CreateMoneyCorrections1795200000015';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(POST);
    await runner.query(VOID);
    await runner.query(SWEEP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION money_post, money_void, money_sweep');
  }
}

/**
 * Idempotent by (organization, kind, reference): `applied` once, `repeated` afterwards, `conflict` when the reference
 * was used for another amount. A debit never reaches into what is held: `insufficient`.
 */
export const POST = `
  CREATE FUNCTION money_post(p_organization uuid, p_kind text, p_delta bigint, p_reference text)
  RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    v_available bigint;
    v_known_delta bigint;
    v_counterpart text := CASE p_kind WHEN 'adjust' THEN 'adjustment' ELSE 'cash' END;
  BEGIN
    SELECT a.balance_micro - a.reserved_micro INTO v_available
      FROM organization_account a WHERE a.organization_id = p_organization FOR UPDATE;
    IF NOT FOUND THEN RETURN 'unknown_organization'; END IF;

    SELECT l.organization_delta_micro INTO v_known_delta FROM ledger_entry l
     WHERE l.organization_id = p_organization AND l.kind = p_kind AND l.external_reference = p_reference;
    IF FOUND THEN RETURN CASE WHEN v_known_delta = p_delta THEN 'repeated' ELSE 'conflict' END; END IF;
    IF v_available + p_delta < 0 THEN RETURN 'insufficient'; END IF;

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

/**
 * For a reservation whose outcome never became known: releases it, or, where it does not exist, takes its id, so that a
 * statement still under way somewhere cannot create it later. Safe to repeat.
 */
const VOID = `
  CREATE FUNCTION money_void(p_ids uuid[], p_organizations uuid[], p_keys uuid[], p_owner text)
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := clock_timestamp();
  BEGIN
    PERFORM 1 FROM organization_account a WHERE a.organization_id = ANY (p_organizations)
      ORDER BY a.organization_id FOR UPDATE;
    INSERT INTO reservation (id, organization_id, key_id, state, amount_micro, day, month, owner, expires_at,
                             created_at, ended_at)
      SELECT o.id, o.organization_id, o.key_id, 'released', 0, (v_now AT TIME ZONE 'UTC')::date,
             date_trunc('month', v_now AT TIME ZONE 'UTC')::date, p_owner, v_now, v_now, v_now
        FROM unnest(p_ids, p_organizations, p_keys) AS o (id, organization_id, key_id)
    ON CONFLICT (id) DO NOTHING;
    PERFORM money_finish(p_ids, p_organizations, array_fill('released'::text, ARRAY[cardinality(p_ids)]),
                         array_fill(0::bigint, ARRAY[cardinality(p_ids)]), NULL, v_now);
  END $$`;

/**
 * Expires up to p_limit holds that are overdue or whose owner's lease is 20 seconds old, and forgets leases that own
 * nothing any more. Answers how many holds it ended.
 *
 * Only an instance that knows of 10 seconds of steady heartbeats may sweep: after an outage of the database all
 * leases look dead, and the living must get the chance to renew theirs first. One sweeper at a time, by an advisory
 * lock. The holds themselves are not locked here: money_finish locks account before reservation, and the other order
 * would deadlock with it; a hold that ends in between is simply not held any more when its turn comes.
 */
const SWEEP = `
  CREATE FUNCTION money_sweep(p_instance text, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    v_now timestamptz := clock_timestamp();
    v_ids uuid[];
    v_organizations uuid[];
  BEGIN
    IF NOT EXISTS (SELECT FROM gateway_instance g
                    WHERE g.id = p_instance AND g.steady_since <= v_now - interval '10 seconds'
                      AND g.heartbeat_at > v_now - interval '10 seconds')
       OR NOT pg_try_advisory_xact_lock(hashtext('money_sweep')) THEN
      RETURN 0;
    END IF;

    SELECT array_agg(o.id), array_agg(o.organization_id) INTO v_ids, v_organizations
      FROM (SELECT r.id, r.organization_id
              FROM reservation r LEFT JOIN gateway_instance g ON g.id = r.owner
             WHERE r.state = 'held'
               AND (r.expires_at <= v_now
                    OR COALESCE(g.heartbeat_at, r.created_at) < v_now - interval '20 seconds')
             LIMIT p_limit) o;
    IF v_ids IS NOT NULL THEN
      PERFORM money_finish(v_ids, v_organizations, array_fill('expired'::text, ARRAY[cardinality(v_ids)]),
                           array_fill(0::bigint, ARRAY[cardinality(v_ids)]), NULL, v_now);
    END IF;

    DELETE FROM gateway_instance g
     WHERE g.heartbeat_at < v_now - interval '1 minute'
       AND NOT EXISTS (SELECT FROM reservation r WHERE r.state = 'held' AND r.owner = g.id);
    RETURN COALESCE(cardinality(v_ids), 0);
  END $$`;
