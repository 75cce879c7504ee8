-- Ends a batch of holds, each exactly once, and writes balance, windows, ledger, receipts and idempotency records in the same
-- transaction. Locks, lookups and planner settings are those of `money_reserve`.
--
-- A settlement charges the actual cost: from its hold first, then from the free balance; the rest is recorded as uncollected.
-- Money of holds that ended earlier in the batch is free.
--
-- Answers three comma-separated fields per position: `applied` when this call ended the hold, else the state that was found
-- (`settled`, `released`, `expired`, `missing`); the charge; the uncollected amount. A repeated call reports the charge of the
-- first one.
--
-- Without `p_now`, which is for tests, the time is read once the accounts are locked, so that entries of one organization have
-- the order in which they were booked.
--
-- `p_records`: JSON array by position, `null` or the values of the receipt in the order of the INSERT below. An array and not
-- an object, because the process pays for every byte that it writes.
--
-- `p_completions`: JSON array by position, `null` or [status, content type, headers, whether the body is stored]. The cost
-- header is the charge unless the response named another amount (a stream names its hold).
--
-- - A keyed hold that ends without a completion frees its key, except for an operation that may have run and must not run
--   again: when it expires, its record is completed with a 500 that is charged nothing.
-- - Only holds that this call ends count: a late owner, whose hold was swept or taken over, changes nothing.
-- - Receipts are counted in `usage_delta` by the statement that writes them: one that exists already is not counted again. Only
--   a hold that is not ended by this call can have one. `ON CONFLICT` would cost every receipt a second WAL record.
-- - Numbers that are 0 for most requests are NULL in their receipts: each would take 8 bytes of the row and of the WAL.
-- - The ended reservation is the charge: it gets the next number of the ledger's entries and the balance that it leaves.
-- - The settings that the triggers of `hold` and `usage_record` read are not among those of the function: PostgreSQL lets only
--   superusers create a function with a setting that it does not know.
-- - Arrays named `v_ended_...` are indexed by the n-th ended hold, all others by position.
CREATE OR REPLACE FUNCTION money_finish(
  p_ids uuid[], p_organizations uuid[], p_outcomes text[], p_actuals bigint[], p_records jsonb DEFAULT NULL,
  p_now timestamptz DEFAULT NULL, p_completions jsonb DEFAULT NULL
) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_generic_plan
SET lock_timeout = '250ms'
AS $$
DECLARE
  v_count integer := cardinality(p_ids);
  v_now timestamptz;
  v_answers text[] := array_fill(''::text, ARRAY[v_count]);
  v_charged bigint[] := array_fill(0::bigint, ARRAY[v_count]);
  v_uncollected bigint[] := array_fill(0::bigint, ARRAY[v_count]);
  v_amounts bigint[] := array_fill(0::bigint, ARRAY[v_count]);
  v_balances bigint[] := array_fill(0::bigint, ARRAY[v_count]);
  v_ended integer[] := '{}';
  v_ended_ids uuid[] := '{}';
  v_ended_keys uuid[] := '{}';
  v_ended_times timestamptz[] := '{}';
  v_ended_jobs boolean[] := '{}';
  v_unheld integer[] := '{}';
  v_repeated integer[] := '{}';
  v_keyed integer[] := '{}';
  v_organization uuid;
  v_free bigint;
  v_balance bigint;
  v_wanted bigint;
  v_charge bigint;
  v_first integer;
  r record;
BEGIN
  PERFORM set_config('gateway.counts_receipts', 'on', true), set_config('gateway.ends_holds', 'on', true);
  PERFORM 1 FROM organization_account a WHERE a.organization_id = ANY (p_organizations)
    ORDER BY a.organization_id FOR UPDATE;
  v_now := COALESCE(p_now, clock_timestamp());

  FOR r IN
    SELECT o.position::integer AS position, o.id, o.organization_id, o.outcome, o.actual,
           held.key_id, held.amount_micro, held.created_at, held.keyed, held.is_job, account.free, account.balance
      FROM unnest(p_ids, p_organizations, p_outcomes, p_actuals)
           WITH ORDINALITY AS o (id, organization_id, outcome, actual, position)
      LEFT JOIN LATERAL (
        SELECT h.key_id, h.amount_micro, h.created_at, h.keyed, h.owner = 'media_job' AS is_job
          FROM hold h WHERE h.organization_id = o.organization_id AND h.id = o.id OFFSET 0
      ) held ON true
      LEFT JOIN LATERAL (
        SELECT a.balance_micro - a.reserved_micro AS free, a.balance_micro AS balance
          FROM organization_account a WHERE a.organization_id = o.organization_id OFFSET 0
      ) account ON true
     ORDER BY o.organization_id, o.position
  LOOP
    IF r.organization_id IS DISTINCT FROM v_organization THEN
      v_organization := r.organization_id; v_free := r.free; v_balance := r.balance;
    END IF;

    v_first := array_position(v_ended_ids, r.id);
    IF v_first IS NOT NULL THEN
      v_first := v_ended[v_first];
      v_charged[r.position] := v_charged[v_first];
      v_uncollected[r.position] := v_uncollected[v_first];
      v_amounts[r.position] := v_amounts[v_first];
      v_answers[r.position] := p_outcomes[v_first];
      v_repeated := v_repeated || r.position;
    ELSIF r.key_id IS NOT NULL THEN
      v_wanted := CASE WHEN r.outcome = 'settled' THEN GREATEST(r.actual, 0) ELSE 0 END;
      v_charge := LEAST(v_wanted, r.amount_micro + v_free);
      v_free := v_free + r.amount_micro - v_charge;
      v_balance := v_balance - v_charge;
      v_charged[r.position] := v_charge;
      v_uncollected[r.position] := v_wanted - v_charge;
      v_amounts[r.position] := r.amount_micro;
      v_balances[r.position] := v_balance;
      v_ended := v_ended || r.position;
      v_ended_ids := v_ended_ids || r.id;
      v_ended_keys := v_ended_keys || r.key_id;
      v_ended_times := v_ended_times || r.created_at;
      v_ended_jobs := v_ended_jobs || r.is_job;
      v_answers[r.position] := 'applied';
      IF r.keyed THEN v_keyed := v_keyed || r.position; END IF;
    ELSE
      v_unheld := v_unheld || r.position;
      v_answers[r.position] := 'missing';
    END IF;
    v_answers[r.position] := v_answers[r.position] || ',' || v_charged[r.position] || ',' || v_uncollected[r.position];
  END LOOP;

  IF cardinality(v_unheld) > 0 THEN
    FOR r IN SELECT e.* FROM ended_reservations(p_ids, p_organizations) e WHERE e."position" = ANY (v_unheld)
    LOOP
      v_charged[r.position] := COALESCE(r.charged_micro, 0);
      v_uncollected[r.position] := r.uncollected_micro;
      v_amounts[r.position] := r.amount_micro;
      v_answers[r.position] := r.state || ',' || v_charged[r.position] || ',' || v_uncollected[r.position];
    END LOOP;

    SELECT v_repeated || COALESCE(array_agg(n), '{}') INTO v_repeated FROM unnest(v_unheld) n
     WHERE n IN (SELECT recorded_receipts(p_ids, p_organizations, v_unheld))
        OR EXISTS (SELECT FROM unnest(v_unheld) m
                    WHERE m < n AND p_ids[m] = p_ids[n] AND p_organizations[m] = p_organizations[n]);
  END IF;

  IF cardinality(v_ended) > 0 THEN
    DELETE FROM hold h USING unnest(v_ended) i WHERE h.organization_id = p_organizations[i] AND h.id = p_ids[i];

    INSERT INTO ended_reservation (amount_micro, charged_micro, uncollected_micro, entry_id, balance_after_micro, created_at,
                                   ended_at, id, organization_id, key_id, is_job, state)
      SELECT v_amounts[e.i], CASE WHEN p_outcomes[e.i] = 'settled' THEN v_charged[e.i] END, v_uncollected[e.i],
             CASE WHEN v_charged[e.i] > 0 THEN nextval('ledger_entry_sequence') END,
             CASE WHEN v_charged[e.i] > 0 THEN v_balances[e.i] END, e.created_at, v_now,
             p_ids[e.i], p_organizations[e.i], e.key_id, e.is_job, p_outcomes[e.i]
        FROM unnest(v_ended, v_ended_times, v_ended_keys, v_ended_jobs) e (i, created_at, key_id, is_job);

    UPDATE organization_account a
       SET balance_micro = a.balance_micro - t.charged, reserved_micro = a.reserved_micro - t.amount
      FROM (SELECT p_organizations[i] AS organization_id, sum(v_charged[i])::bigint AS charged,
                   sum(v_amounts[i])::bigint AS amount
              FROM unnest(v_ended) i GROUP BY 1) t
     WHERE a.organization_id = t.organization_id;

    UPDATE spend_window w SET spent_micro = w.spent_micro + t.charged, reserved_micro = w.reserved_micro - t.amount
      FROM (SELECT p_organizations[e.i] AS organization_id, s.scope,
                   CASE s.scope WHEN 1 THEN p_organizations[e.i] ELSE e.key_id END AS scope_id,
                   date_trunc(CASE s.scope WHEN 2 THEN 'day' ELSE 'month' END, e.created_at AT TIME ZONE 'UTC')::date
                     AS window_start,
                   sum(v_charged[e.i])::bigint AS charged, sum(v_amounts[e.i])::bigint AS amount
              FROM unnest(v_ended, v_ended_keys, v_ended_times) e (i, key_id, created_at),
                   (VALUES (1), (2), (3)) s (scope)
             GROUP BY 1, 2, 3, 4) t
     WHERE w.organization_id = t.organization_id AND w.scope = t.scope AND w.scope_id = t.scope_id
       AND w.window_start = t.window_start;
  END IF;

  IF cardinality(v_keyed) > 0 THEN
    UPDATE idempotency_record d
       SET state = 'completed', status = (c->>0)::smallint, content_type = c->>1,
           headers = jsonb_build_object('x-llm-cost-micro', v_charged[i]::text) || (c->2),
           charged_micro = v_charged[i], body_stored = (c->>3)::boolean,
           completed_at = v_now, expires_at = v_now + interval '24 hours'
      FROM unnest(v_keyed) i, LATERAL (SELECT p_completions->(i - 1) AS c) completion
     WHERE d.organization_id = p_organizations[i] AND d.reservation_id = p_ids[i] AND d.state = 'in_progress'
       AND jsonb_typeof(c) = 'array';

    UPDATE idempotency_record d
       SET state = 'completed', status = 500, headers = '{}', charged_micro = 0, body_stored = false,
           completed_at = v_now, expires_at = v_now + interval '24 hours'
      FROM unnest(v_keyed) i
     WHERE d.organization_id = p_organizations[i] AND d.reservation_id = p_ids[i] AND d.state = 'in_progress'
       AND d.at_most_once AND p_outcomes[i] = 'expired';

    DELETE FROM idempotency_record d USING unnest(v_keyed) i
     WHERE d.organization_id = p_organizations[i] AND d.reservation_id = p_ids[i] AND d.state = 'in_progress';
  END IF;

  IF p_records IS NOT NULL THEN
    WITH receipt AS (
      INSERT INTO usage_record AS u (id, organization_id, hold_micro, charged_micro, uncollected_micro, created_at,
        key_id, operation, model, provider, deployment_uuid, price_version_uuid, status, error_code, streamed,
        usage_estimated, attempts, first_token_ms, total_ms,
        input_text, input_cache_read, input_cache_write_5m, input_cache_write_1h, input_image, input_audio,
        output_text, output_reasoning, output_image, output_audio, images, seconds, characters,
        attempt_log, priced_by)
      SELECT p_ids[n], p_organizations[n], v_amounts[n], v_charged[n], NULLIF(v_uncollected[n], 0), v_now,
        (v->>0)::uuid, v->>1, v->>2, v->>3, (v->>4)::uuid, (v->>5)::uuid,
        CASE WHEN v_answers[n] LIKE 'applied,%' THEN (v->>6)::smallint ELSE 503 END,
        CASE WHEN v_answers[n] LIKE 'applied,%' THEN v->>7 ELSE 'service_unavailable' END, (v->>8)::boolean,
        (v->>9)::boolean, (v->>10)::integer, (v->>11)::integer, (v->>12)::integer,
        (v->>13)::bigint, NULLIF((v->>14)::bigint, 0), NULLIF((v->>15)::bigint, 0), NULLIF((v->>16)::bigint, 0),
        NULLIF((v->>17)::bigint, 0), NULLIF((v->>18)::bigint, 0), (v->>19)::bigint, NULLIF((v->>20)::bigint, 0),
        NULLIF((v->>21)::bigint, 0), NULLIF((v->>22)::bigint, 0), NULLIF((v->>23)::bigint, 0),
        NULLIF((v->>24)::double precision, 0), NULLIF((v->>25)::bigint, 0),
        NULLIF(v->26, 'null'), NULLIF(v->27, 'null')
        FROM jsonb_array_elements(p_records) WITH ORDINALITY AS record (v, n)
       WHERE jsonb_typeof(v) = 'array' AND n <> ALL (v_repeated)
      RETURNING organization_id, key_id, model, operation,
        CASE WHEN status < 400 THEN 'success' ELSE COALESCE(error_code, 'canceled') END AS outcome, charged_micro,
        usage_input_tokens(u) AS input_tokens, usage_output_tokens(u) AS output_tokens,
        CASE WHEN status < 400 THEN 256 + usage_latency_step(total_ms) END AS total_latency,
        CASE WHEN status < 400 THEN 256 + 128 + usage_latency_step(first_token_ms) END AS first_token_latency
    )
    INSERT INTO usage_delta (organization_id, key_id, hour, model, operation, outcome, requests, minutes,
      input_tokens, output_tokens, charged_micro, latency)
    SELECT organization_id, key_id, date_trunc('hour', v_now, 'UTC'), model, operation, outcome, count(*),
      1::bigint << extract(minute FROM v_now AT TIME ZONE 'UTC')::integer, sum(input_tokens), sum(output_tokens),
      sum(charged_micro),
      array_agg(total_latency) FILTER (WHERE total_latency IS NOT NULL)
        || array_agg(first_token_latency) FILTER (WHERE first_token_latency IS NOT NULL)
      FROM receipt GROUP BY organization_id, key_id, model, operation, outcome;
  END IF;
  PERFORM set_config('gateway.counts_receipts', 'off', true), set_config('gateway.ends_holds', 'off', true);
  RETURN array_to_string(v_answers, ',');
END
$$;
