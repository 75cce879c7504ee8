-- Admits a batch of holds, in order, against balance, organization limit and key budgets, and claims idempotency keys in the
-- same transaction.
--
-- Answers one word per position, separated by commas: `held` (also for a repeated call); `key_daily_budget`,
-- `key_monthly_budget`, `organization_monthly_limit`, `insufficient_balance`: this limit refuses the hold; `unknown_account` (or
-- key); `conflict`: the reservation has ended or was made with other values; `key_claimed`: the idempotency key belongs to
-- another request.
--
-- - The first statement locks the accounts in order of their ids. All work on an account is serialized behind that lock, so
--   batches of any number of processes neither deadlock nor overspend, and later statements see what earlier holders committed.
-- - The loop runs no SQL: one query reads, a few bulk statements write.
-- - `OFFSET 0` keeps every lookup a primary-key probe, and the planner settings prevent a plan that was made on empty tables
--   from surviving as a sequential scan. `force_generic_plan` saves planning every statement anew on a young connection.
-- - A batch waits 250 ms for a locked account, so that one account does not stop the others: it fails, and its operations are
--   repeated by account (`AccountLanes`).
-- - Reservations that have ended are looked up once per batch (`ended_reservations`).
-- - `r.id = ANY (v_admitted_ids)` compares ids pairwise: fine for the queue's maximum of 128, not for 10,000.
-- - Windows are UTC, chosen by the database's clock: those of the hold's `created_at`. `p_now` is for tests. Only a batch that
--   opens one inserts: an upsert would lock each row before it updates it, 56 bytes of WAL and a second change of its page.
--
-- `p_claims`: JSON array by position, `null` or [operation, key, fingerprint in hexadecimal, at most once]; `NULL` when no
-- operation of the batch claims a key, which then costs nothing.
--
-- - The unique index decides which request gets a key. A request that loses its claim holds nothing; one that gets the key but
--   not the money gives the key back. A repeated call recognizes its own claims by the reservation id.
-- - An expired record is free. A record whose owner is dead by the rule of `money_sweep` is taken over at once, after its hold
--   has ended, so that a retry need not wait for the sweep. Operations that must run at most once are not taken over: their
--   record is completed with a failure, and the claim is lost.
-- - `v_claims`: positions that claim a key; `v_lost`: those whose key belongs to another request.
CREATE OR REPLACE FUNCTION money_reserve(
  p_ids uuid[], p_organizations uuid[], p_keys uuid[], p_amounts bigint[], p_ttls integer[], p_owner text,
  p_now timestamptz DEFAULT clock_timestamp(), p_claims jsonb DEFAULT NULL
) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '250ms'
AS $$
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
  v_opens_windows boolean := false;
  v_answer text;
  v_first integer;
  v_claims integer[] := '{}';
  v_operations text[];
  v_claim_keys text[];
  v_lost integer[] := '{}';
  v_over integer[];
  v_claimed_ids uuid[] := '{}';
  v_orphans uuid[];
  v_orphan_organizations uuid[];
  r record;
BEGIN
  PERFORM 1 FROM organization_account a WHERE a.organization_id = ANY (p_organizations)
    ORDER BY a.organization_id FOR UPDATE;

  IF p_claims IS NOT NULL THEN
    SELECT COALESCE(array_agg(n::integer ORDER BY n), '{}'), array_agg(c->>0 ORDER BY n), array_agg(c->>1 ORDER BY n)
      INTO v_claims, v_operations, v_claim_keys
      FROM jsonb_array_elements(p_claims) WITH ORDINALITY AS claim (c, n) WHERE jsonb_typeof(c) = 'array';

    DELETE FROM idempotency_record d USING unnest(v_claims, v_operations, v_claim_keys) AS c (position, operation, key)
     WHERE d.organization_id = p_organizations[c.position] AND d.operation = c.operation AND d.key = c.key
       AND d.state = 'completed' AND d.expires_at <= p_now;

    SELECT array_agg(o.id), array_agg(o.organization_id) INTO v_orphans, v_orphan_organizations
      FROM (SELECT DISTINCT held.id, held.organization_id
              FROM unnest(v_claims, v_operations, v_claim_keys) AS c (position, operation, key)
              JOIN idempotency_record d
                ON d.organization_id = p_organizations[c.position] AND d.operation = c.operation AND d.key = c.key
              JOIN hold held ON held.organization_id = d.organization_id AND held.id = d.reservation_id
              LEFT JOIN gateway_instance owner ON owner.id = held.owner
             WHERE d.state = 'in_progress' AND held.id <> p_ids[c.position]
               AND (held.expires_at <= p_now
                    OR COALESCE(owner.heartbeat_at, held.created_at) < p_now - interval '20 seconds')
               AND EXISTS (SELECT FROM gateway_instance me
                            WHERE me.id = p_owner AND me.steady_since <= p_now - interval '10 seconds'
                              AND me.heartbeat_at > p_now - interval '10 seconds')) o;
    IF v_orphans IS NOT NULL THEN
      PERFORM money_finish(v_orphans, v_orphan_organizations, array_fill('expired'::text, ARRAY[cardinality(v_orphans)]),
                           array_fill(0::bigint, ARRAY[cardinality(v_orphans)]), NULL, p_now);
    END IF;

    WITH made AS (
      INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id, at_most_once,
                                      created_at)
        SELECT p_organizations[i], p_claims->(i - 1)->>0, p_claims->(i - 1)->>1,
               decode(p_claims->(i - 1)->>2, 'hex'), p_ids[i], (p_claims->(i - 1)->>3)::boolean, p_now
          FROM unnest(v_claims) i
      ON CONFLICT DO NOTHING RETURNING reservation_id
    )
    SELECT COALESCE(array_agg(reservation_id), '{}') INTO v_claimed_ids FROM made;

    SELECT COALESCE(array_agg(c.position), '{}') INTO v_lost
      FROM unnest(v_claims, v_operations, v_claim_keys) AS c (position, operation, key)
      LEFT JOIN idempotency_record d
        ON d.organization_id = p_organizations[c.position] AND d.operation = c.operation AND d.key = c.key
     WHERE d.reservation_id IS DISTINCT FROM p_ids[c.position];
  END IF;

  SELECT COALESCE(array_agg(e."position"), '{}') INTO v_over FROM ended_reservations(p_ids, p_organizations) e;

  FOR r IN
    SELECT o.position, o.id, o.organization_id, o.key_id, o.amount,
           existing.key_id IS NOT NULL AS is_held,
           (existing.key_id, existing.amount_micro) IS NOT DISTINCT FROM (o.key_id, o.amount) AS is_same_hold,
           account.available, account.monthly_limit_micro,
           k.id IS NOT NULL AS key_exists, k.daily_budget_micro, k.monthly_budget_micro,
           num_nulls(organization_month.used, key_day.used, key_month.used) > 0 AS opens_window,
           COALESCE(organization_month.used, 0) AS organization_month_used,
           COALESCE(key_day.used, 0) AS key_day_used,
           COALESCE(key_month.used, 0) AS key_month_used
      FROM unnest(p_ids, p_organizations, p_keys, p_amounts)
           WITH ORDINALITY AS o (id, organization_id, key_id, amount, position)
      LEFT JOIN LATERAL (
        SELECT h.key_id, h.amount_micro FROM hold h
         WHERE h.organization_id = o.organization_id AND h.id = o.id OFFSET 0
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
         WHERE w.organization_id = o.organization_id AND w.scope = 1 AND w.scope_id = o.organization_id
           AND w.window_start = v_month OFFSET 0
      ) organization_month ON true
      LEFT JOIN LATERAL (
        SELECT w.spent_micro + w.reserved_micro AS used FROM spend_window w
         WHERE w.organization_id = o.organization_id AND w.scope = 2 AND w.scope_id = o.key_id
           AND w.window_start = v_day OFFSET 0
      ) key_day ON true
      LEFT JOIN LATERAL (
        SELECT w.spent_micro + w.reserved_micro AS used FROM spend_window w
         WHERE w.organization_id = o.organization_id AND w.scope = 3 AND w.scope_id = o.key_id
           AND w.window_start = v_month OFFSET 0
      ) key_month ON true
     ORDER BY o.organization_id, o.key_id, o.position
  LOOP
    IF r.organization_id IS DISTINCT FROM v_organization THEN
      v_organization := r.organization_id; v_organization_held := 0;
      v_key := r.key_id; v_key_held := 0;
    ELSIF r.key_id IS DISTINCT FROM v_key THEN
      v_key := r.key_id; v_key_held := 0;
    END IF;

    IF r.is_held THEN
      v_answer := CASE WHEN r.is_same_hold THEN 'held' ELSE 'conflict' END;
    ELSIF r.position = ANY (v_over) THEN v_answer := 'conflict';
    ELSIF r.id = ANY (v_admitted_ids) THEN
      v_first := v_admitted[array_position(v_admitted_ids, r.id)];
      v_answer := CASE WHEN (p_organizations[v_first], p_keys[v_first], p_amounts[v_first])
                            = (r.organization_id, r.key_id, r.amount) THEN 'held' ELSE 'conflict' END;
    ELSIF r.position = ANY (v_lost) THEN v_answer := 'key_claimed';
    ELSIF r.available IS NULL OR NOT r.key_exists OR r.amount < 0 THEN v_answer := 'unknown_account';
    ELSIF r.key_day_used + v_key_held + r.amount > r.daily_budget_micro THEN v_answer := 'key_daily_budget';
    ELSIF r.key_month_used + v_key_held + r.amount > r.monthly_budget_micro THEN v_answer := 'key_monthly_budget';
    ELSIF r.organization_month_used + v_organization_held + r.amount > r.monthly_limit_micro THEN
      v_answer := 'organization_monthly_limit';
    ELSIF v_organization_held + r.amount > r.available THEN v_answer := 'insufficient_balance';
    ELSE
      v_answer := 'held';
      v_organization_held := v_organization_held + r.amount;
      v_key_held := v_key_held + r.amount;
      v_admitted := v_admitted || r.position::integer;
      v_admitted_ids := v_admitted_ids || r.id;
      v_opens_windows := v_opens_windows OR r.opens_window;
    END IF;
    v_answers[r.position] := v_answer;
  END LOOP;

  IF cardinality(v_admitted) > 0 THEN
    UPDATE organization_account a SET reserved_micro = a.reserved_micro + t.amount
      FROM (SELECT p_organizations[i] AS organization_id, sum(p_amounts[i])::bigint AS amount
              FROM unnest(v_admitted) i GROUP BY 1) t
     WHERE a.organization_id = t.organization_id;

    IF v_opens_windows THEN
      INSERT INTO spend_window (organization_id, scope, scope_id, window_start)
        SELECT DISTINCT p_organizations[i], s.scope, CASE s.scope WHEN 1 THEN p_organizations[i] ELSE p_keys[i] END,
               CASE s.scope WHEN 2 THEN v_day ELSE v_month END
          FROM unnest(v_admitted) i, (VALUES (1), (2), (3)) s (scope)
        ON CONFLICT DO NOTHING;
    END IF;

    UPDATE spend_window w SET reserved_micro = w.reserved_micro + t.amount
      FROM (SELECT p_organizations[i] AS organization_id, s.scope,
                   CASE s.scope WHEN 1 THEN p_organizations[i] ELSE p_keys[i] END AS scope_id,
                   CASE s.scope WHEN 2 THEN v_day ELSE v_month END AS window_start, sum(p_amounts[i])::bigint AS amount
              FROM unnest(v_admitted) i, (VALUES (1), (2), (3)) s (scope)
             GROUP BY 1, 2, 3, 4) t
     WHERE w.organization_id = t.organization_id AND w.scope = t.scope AND w.scope_id = t.scope_id
       AND w.window_start = t.window_start;

    INSERT INTO hold (organization_id, id, key_id, amount_micro, created_at, expires_at, keyed, owner)
      SELECT p_organizations[i], p_ids[i], p_keys[i], p_amounts[i], p_now,
             p_now + make_interval(secs => p_ttls[i]), p_ids[i] = ANY (v_claimed_ids), p_owner
        FROM unnest(v_admitted) i;
  END IF;

  IF cardinality(v_claimed_ids) > 0 THEN
    DELETE FROM idempotency_record d
     WHERE d.organization_id = ANY (p_organizations) AND d.reservation_id = ANY (v_claimed_ids)
       AND d.reservation_id <> ALL (v_admitted_ids);
  END IF;
  RETURN array_to_string(v_answers, ',');
END
$$;
