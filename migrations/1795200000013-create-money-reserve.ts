import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `money_reserve`: admits a batch of holds, in order, against balance, organization limit and key budgets.
 *
 * - The first statement locks the accounts, sorted; everything else of an organization is serialised behind that lock,
 *   so batches of any number of processes neither deadlock nor overspend. Statements after it see what it waited for.
 * - The loop runs no SQL: one driving query reads, a few bulk statements write.
 * - `OFFSET 0` keeps each look-up a primary-key probe, and the planner settings keep a plan made on empty tables from
 *   surviving as a sequential scan. `force_generic_plan` saves planning each statement anew in a young connection.
 * - Answers are by position, one letter each: A admitted (or already held: a repeated call), D / M key budget of the
 *   day / month, O organization's monthly limit, C credits, U unknown account or key, E ended or not the same hold.
 * - Windows are UTC, chosen by the database's clock and frozen in the reservation. `p_now` is for tests.
 */
export class CreateMoneyReserve1795200000013 implements MigrationInterface {
  readonly name = 'CreateMoneyReserve1795200000013';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION money_reserve(
        p_ids uuid[], p_organizations uuid[], p_keys uuid[], p_amounts bigint[], p_ttls integer[], p_owner text,
        p_now timestamptz DEFAULT clock_timestamp()
      ) RETURNS text LANGUAGE plpgsql
      SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
      SET jit = off SET plan_cache_mode = force_generic_plan
      AS $$${BODY}$$
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION money_reserve');
  }
}

/** `r.id = ANY (v_admitted_ids)` compares every pair of a batch: fine at the queue's cap of 128, not at 10,000. */
const BODY = `
  DECLARE
    v_day date := (p_now AT TIME ZONE 'UTC')::date;
    v_month date := date_trunc('month', p_now AT TIME ZONE 'UTC')::date;
    v_answers text[] := array_fill(''::text, ARRAY[cardinality(p_ids)]);
    v_admitted integer[] := '{}';
    v_admitted_ids uuid[] := '{}';
    v_organization uuid;
    v_key uuid;
    v_organization_held bigint := 0;
    v_key_held bigint := 0;
    v_answer text;
    v_first integer;
    r record;
  BEGIN
    PERFORM 1 FROM organization_account a WHERE a.organization_id = ANY (p_organizations)
      ORDER BY a.organization_id FOR UPDATE;

    FOR r IN
      SELECT o.position, o.id, o.organization_id, o.key_id, o.amount,
             existing.state AS existing_state,
             (existing.organization_id, existing.key_id, existing.amount_micro)
               IS NOT DISTINCT FROM (o.organization_id, o.key_id, o.amount) AS is_same_hold,
             account.available, account.monthly_limit_micro,
             k.id IS NOT NULL AS key_exists, k.daily_budget_micro, k.monthly_budget_micro,
             COALESCE(organization_month.used, 0) AS organization_month_used,
             COALESCE(key_day.used, 0) AS key_day_used,
             COALESCE(key_month.used, 0) AS key_month_used
        FROM unnest(p_ids, p_organizations, p_keys, p_amounts)
             WITH ORDINALITY AS o (id, organization_id, key_id, amount, position)
        LEFT JOIN LATERAL (
          SELECT e.state, e.organization_id, e.key_id, e.amount_micro FROM reservation e WHERE e.id = o.id OFFSET 0
        ) existing ON true
        LEFT JOIN LATERAL (
          SELECT a.balance_micro - a.reserved_micro AS available, a.monthly_limit_micro
            FROM organization_account a WHERE a.organization_id = o.organization_id OFFSET 0
        ) account ON true
        LEFT JOIN LATERAL (
          SELECT a.id, a.daily_budget_micro, a.monthly_budget_micro
            FROM api_key a WHERE a.id = o.key_id AND a.organization_id = o.organization_id OFFSET 0
        ) k ON true
        LEFT JOIN LATERAL (
          SELECT w.spent_micro + w.reserved_micro AS used FROM spend_window w
           WHERE w.scope = 1 AND w.scope_id = o.organization_id AND w.window_start = v_month OFFSET 0
        ) organization_month ON true
        LEFT JOIN LATERAL (
          SELECT w.spent_micro + w.reserved_micro AS used FROM spend_window w
           WHERE w.scope = 2 AND w.scope_id = o.key_id AND w.window_start = v_day OFFSET 0
        ) key_day ON true
        LEFT JOIN LATERAL (
          SELECT w.spent_micro + w.reserved_micro AS used FROM spend_window w
           WHERE w.scope = 3 AND w.scope_id = o.key_id AND w.window_start = v_month OFFSET 0
        ) key_month ON true
       ORDER BY o.organization_id, o.key_id, o.position
    LOOP
      IF r.organization_id IS DISTINCT FROM v_organization THEN
        v_organization := r.organization_id; v_organization_held := 0;
        v_key := r.key_id; v_key_held := 0;
      ELSIF r.key_id IS DISTINCT FROM v_key THEN
        v_key := r.key_id; v_key_held := 0;
      END IF;

      IF r.existing_state IS NOT NULL THEN
        v_answer := CASE WHEN r.existing_state = 'held' AND r.is_same_hold THEN 'A' ELSE 'E' END;
      ELSIF r.id = ANY (v_admitted_ids) THEN
        v_first := v_admitted[array_position(v_admitted_ids, r.id)];
        v_answer := CASE WHEN (p_organizations[v_first], p_keys[v_first], p_amounts[v_first])
                              = (r.organization_id, r.key_id, r.amount) THEN 'A' ELSE 'E' END;
      ELSIF r.available IS NULL OR NOT r.key_exists OR r.amount < 0 THEN v_answer := 'U';
      ELSIF r.key_day_used + v_key_held + r.amount > r.daily_budget_micro THEN v_answer := 'D';
      ELSIF r.key_month_used + v_key_held + r.amount > r.monthly_budget_micro THEN v_answer := 'M';
      ELSIF r.organization_month_used + v_organization_held + r.amount > r.monthly_limit_micro THEN v_answer := 'O';
      ELSIF v_organization_held + r.amount > r.available THEN v_answer := 'C';
      ELSE
        v_answer := 'A';
        v_organization_held := v_organization_held + r.amount;
        v_key_held := v_key_held + r.amount;
        v_admitted := v_admitted || r.position::integer;
        v_admitted_ids := v_admitted_ids || r.id;
      END IF;
      v_answers[r.position] := v_answer;
    END LOOP;

    IF cardinality(v_admitted) > 0 THEN
      UPDATE organization_account a SET reserved_micro = a.reserved_micro + t.amount
        FROM (SELECT p_organizations[i] AS organization_id, sum(p_amounts[i])::bigint AS amount
                FROM unnest(v_admitted) i GROUP BY 1) t
       WHERE a.organization_id = t.organization_id;

      INSERT INTO spend_window AS w (scope, scope_id, window_start, reserved_micro)
        SELECT 1, p_organizations[i], v_month, sum(p_amounts[i]) FROM unnest(v_admitted) i GROUP BY 2
        UNION ALL
        SELECT s.scope, t.key_id, CASE s.scope WHEN 2 THEN v_day ELSE v_month END, t.amount
          FROM (SELECT p_keys[i] AS key_id, sum(p_amounts[i]) AS amount FROM unnest(v_admitted) i GROUP BY 1) t,
               (VALUES (2), (3)) s (scope)
        ON CONFLICT (scope, scope_id, window_start)
        DO UPDATE SET reserved_micro = w.reserved_micro + excluded.reserved_micro;

      INSERT INTO reservation (id, organization_id, key_id, amount_micro, day, month, owner, expires_at, created_at)
        SELECT p_ids[i], p_organizations[i], p_keys[i], p_amounts[i], v_day, v_month, p_owner,
               p_now + make_interval(secs => p_ttls[i]), p_now
          FROM unnest(v_admitted) i;
    END IF;
    RETURN array_to_string(v_answers, '');
  END `;
