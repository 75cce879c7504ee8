-- What `ledger verify` checks besides `money_violations`: receipts, their totals and stored responses. It reads and digests all
-- of them, which takes too long for the periodic audit. Without a row in `receipt_history`, everything must be complete.

CREATE OR REPLACE VIEW record_violations AS

-- I9: while no process has a lease, these holds will not be ended. `money_violations` leaves them out: it is read by processes
-- that sweep, and just after an outage of the database none of them has renewed its lease yet.
SELECT 'I9 no orphaned hold is older than 30 seconds' AS invariant, r.id::text AS subject,
       r.amount_micro::numeric AS difference_micro
  FROM hold r LEFT JOIN gateway_instance g ON g.id = r.owner
 WHERE CASE r.owner WHEN 'media_job' THEN r.expires_at
                    ELSE LEAST(r.expires_at, COALESCE(g.heartbeat_at, r.created_at)) END
       < clock_timestamp() - interval '30 seconds'
   AND NOT EXISTS (SELECT FROM gateway_instance s WHERE s.heartbeat_at > clock_timestamp() - interval '30 seconds')

UNION ALL
SELECT v.* FROM receipt_violations('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff') v

UNION ALL
SELECT 'I17 a receipt is unchanged', u.id::text, u.charged_micro::numeric
  FROM usage_record u
 WHERE u.digest IS DISTINCT FROM usage_record_digest(u)
   AND (u.digest IS NOT NULL
        OR u.created_at >= COALESCE((SELECT max(sealed_since) FROM receipt_history), '-infinity'))
UNION ALL
SELECT 'I17 a receipt is unchanged', 'receipt_history', 0
  FROM (SELECT max(kept_since) AS kept_since, max(sealed_since) AS sealed_since, max(latency_since) AS latency_since
          FROM receipt_history) h
 WHERE h.sealed_since IS NULL OR GREATEST(h.kept_since, h.sealed_since, h.latency_since) > clock_timestamp()

-- I18 by model: totals of hours plus deltas against receipts, from the first whole hour without removed receipts. Sums are
-- those of `money_finish`.
UNION ALL
SELECT 'I18 totals are the sums of the receipts',
       concat_ws(' ', organization_id, starts_at, model, operation, outcome),
       (COALESCE(t.charged_micro, 0) - COALESCE(u.charged_micro, 0))::numeric
  FROM (SELECT organization_id, starts_at, model, operation, outcome, sum(requests) AS requests,
               bit_or(minutes) AS minutes, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
               sum(charged_micro) AS charged_micro
          FROM (SELECT organization_id, starts_at, model, operation, outcome, requests, minutes, input_tokens,
                       output_tokens, charged_micro
                  FROM usage_by_model
                 WHERE span = 'hour'
                   AND starts_at >= date_trunc('hour', COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
                                                       + interval '3599.999999 seconds', 'UTC')
                UNION ALL
                SELECT organization_id, hour, model, operation, outcome, requests, minutes, input_tokens,
                       output_tokens, charged_micro
                  FROM usage_delta
                 WHERE hour >= date_trunc('hour', COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
                                                  + interval '3599.999999 seconds', 'UTC')) hours
         GROUP BY 1, 2, 3, 4, 5) t
  FULL JOIN (SELECT organization_id, date_trunc('hour', created_at, 'UTC') AS starts_at, model, operation,
                    CASE WHEN status < 400 THEN 'success' ELSE COALESCE(error_code, 'canceled') END AS outcome,
                    count(*) AS requests,
                    bit_or(1::bigint << extract(minute FROM created_at AT TIME ZONE 'UTC')::integer) AS minutes,
                    sum(usage_input_tokens(r)) AS input_tokens, sum(usage_output_tokens(r)) AS output_tokens,
                    sum(charged_micro) AS charged_micro
               FROM usage_record r
              WHERE created_at >= date_trunc('hour', COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
                                                     + interval '3599.999999 seconds', 'UTC')
              GROUP BY 1, 2, 3, 4, 5) u
       USING (organization_id, starts_at, model, operation, outcome)
 WHERE (t.requests, t.minutes, t.input_tokens, t.output_tokens, t.charged_micro)
       IS DISTINCT FROM (u.requests, u.minutes, u.input_tokens, u.output_tokens, u.charged_micro)

-- I18 by model: totals of days against those of hours.
UNION ALL
SELECT 'I18 totals are the sums of the receipts',
       concat_ws(' ', organization_id, starts_at, model, operation, outcome),
       (COALESCE(t.charged_micro, 0) - COALESCE(u.charged_micro, 0))::numeric
  FROM (SELECT organization_id, starts_at, model, operation, outcome, requests, input_tokens, output_tokens,
               charged_micro
          FROM usage_by_model WHERE span = 'day') t
  FULL JOIN (SELECT organization_id, date_trunc('day', starts_at, 'UTC') AS starts_at, model, operation, outcome,
                    sum(requests) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
                    sum(charged_micro) AS charged_micro
               FROM usage_by_model WHERE span = 'hour' GROUP BY 1, 2, 3, 4, 5) u
       USING (organization_id, starts_at, model, operation, outcome)
 WHERE (t.requests, t.input_tokens, t.output_tokens, t.charged_micro)
       IS DISTINCT FROM (u.requests, u.input_tokens, u.output_tokens, u.charged_micro)

-- I18: latency counters of hours plus deltas against successful receipts, from the first whole hour in which all are counted.
UNION ALL
SELECT 'I18 totals are the sums of the receipts',
       concat_ws(' ', organization_id, starts_at, model, operation, 'latency counter', counter), 0
  FROM (SELECT organization_id, starts_at, model, operation, element & 255 AS counter, sum(element >> 8) AS requests
          FROM (SELECT organization_id, starts_at, model, operation, latency FROM usage_by_model WHERE span = 'hour'
                UNION ALL
                SELECT organization_id, hour, model, operation, latency FROM usage_delta) hours,
               unnest(latency) AS element
         WHERE starts_at >= date_trunc('hour', COALESCE((SELECT GREATEST(max(kept_since), max(latency_since))
                                                              FROM receipt_history), '-infinity')
                                                + interval '3599.999999 seconds', 'UTC')
         GROUP BY 1, 2, 3, 4, 5) t
  FULL JOIN (SELECT organization_id, date_trunc('hour', created_at, 'UTC') AS starts_at, model, operation, counter,
                    count(*) AS requests
               FROM usage_record,
                    LATERAL (VALUES (usage_latency_step(total_ms)), (128 + usage_latency_step(first_token_ms))) c (counter)
              WHERE status < 400 AND counter IS NOT NULL
                AND created_at >= date_trunc('hour', COALESCE((SELECT GREATEST(max(kept_since), max(latency_since))
                                                                   FROM receipt_history), '-infinity')
                                                     + interval '3599.999999 seconds', 'UTC')
              GROUP BY 1, 2, 3, 4, 5) u
       USING (organization_id, starts_at, model, operation, counter)
 WHERE t.requests IS DISTINCT FROM u.requests

-- I18: latency counters of days against those of hours.
UNION ALL
SELECT 'I18 totals are the sums of the receipts',
       concat_ws(' ', organization_id, starts_at, model, operation, outcome, 'latency counter', counter), 0
  FROM (SELECT organization_id, starts_at, model, operation, outcome, element & 255 AS counter,
               sum(element >> 8) AS requests
          FROM usage_by_model, unnest(latency) AS element WHERE span = 'day' GROUP BY 1, 2, 3, 4, 5, 6) t
  FULL JOIN (SELECT organization_id, date_trunc('day', starts_at, 'UTC') AS starts_at, model, operation, outcome,
                    element & 255 AS counter, sum(element >> 8) AS requests
               FROM usage_by_model, unnest(latency) AS element WHERE span = 'hour' GROUP BY 1, 2, 3, 4, 5, 6) u
       USING (organization_id, starts_at, model, operation, outcome, counter)
 WHERE t.requests IS DISTINCT FROM u.requests

-- I18 by key: totals of hours plus deltas against receipts.
UNION ALL
SELECT 'I18 totals are the sums of the receipts', concat_ws(' ', organization_id, starts_at, key_id, outcome),
       (COALESCE(t.charged_micro, 0) - COALESCE(u.charged_micro, 0))::numeric
  FROM (SELECT organization_id, starts_at, key_id, outcome, sum(requests) AS requests, bit_or(minutes) AS minutes,
               sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
               sum(charged_micro) AS charged_micro
          FROM (SELECT organization_id, starts_at, key_id, outcome, requests, minutes, input_tokens, output_tokens,
                       charged_micro
                  FROM usage_by_key
                 WHERE span = 'hour'
                   AND starts_at >= date_trunc('hour', COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
                                                       + interval '3599.999999 seconds', 'UTC')
                UNION ALL
                SELECT organization_id, hour, key_id, outcome, requests, minutes, input_tokens, output_tokens,
                       charged_micro
                  FROM usage_delta
                 WHERE hour >= date_trunc('hour', COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
                                                  + interval '3599.999999 seconds', 'UTC')) hours
         GROUP BY 1, 2, 3, 4) t
  FULL JOIN (SELECT organization_id, date_trunc('hour', created_at, 'UTC') AS starts_at, key_id,
                    CASE WHEN status < 400 THEN 'success' ELSE COALESCE(error_code, 'canceled') END AS outcome,
                    count(*) AS requests,
                    bit_or(1::bigint << extract(minute FROM created_at AT TIME ZONE 'UTC')::integer) AS minutes,
                    sum(usage_input_tokens(r)) AS input_tokens, sum(usage_output_tokens(r)) AS output_tokens,
                    sum(charged_micro) AS charged_micro
               FROM usage_record r
              WHERE created_at >= date_trunc('hour', COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
                                                     + interval '3599.999999 seconds', 'UTC')
              GROUP BY 1, 2, 3, 4) u
       USING (organization_id, starts_at, key_id, outcome)
 WHERE (t.requests, t.minutes, t.input_tokens, t.output_tokens, t.charged_micro)
       IS DISTINCT FROM (u.requests, u.minutes, u.input_tokens, u.output_tokens, u.charged_micro)

-- I18 by key: totals of days against those of hours.
UNION ALL
SELECT 'I18 totals are the sums of the receipts', concat_ws(' ', organization_id, starts_at, key_id, outcome),
       (COALESCE(t.charged_micro, 0) - COALESCE(u.charged_micro, 0))::numeric
  FROM (SELECT organization_id, starts_at, key_id, outcome, requests, input_tokens, output_tokens, charged_micro
          FROM usage_by_key WHERE span = 'day') t
  FULL JOIN (SELECT organization_id, date_trunc('day', starts_at, 'UTC') AS starts_at, key_id, outcome,
                    sum(requests) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
                    sum(charged_micro) AS charged_micro
               FROM usage_by_key WHERE span = 'hour' GROUP BY 1, 2, 3, 4) u
       USING (organization_id, starts_at, key_id, outcome)
 WHERE (t.requests, t.input_tokens, t.output_tokens, t.charged_micro)
       IS DISTINCT FROM (u.requests, u.input_tokens, u.output_tokens, u.charged_micro)

-- I18: totals by model against those by key. They are folded together, so they match however old they are.
UNION ALL
SELECT 'I18 totals are the sums of the receipts', concat_ws(' ', organization_id, starts_at, outcome),
       (COALESCE(t.charged_micro, 0) - COALESCE(u.charged_micro, 0))::numeric
  FROM (SELECT organization_id, starts_at, outcome, sum(requests) AS requests, sum(input_tokens) AS input_tokens,
               sum(output_tokens) AS output_tokens, sum(charged_micro) AS charged_micro
          FROM usage_by_model WHERE span = 'day' GROUP BY 1, 2, 3) t
  FULL JOIN (SELECT organization_id, starts_at, outcome, sum(requests) AS requests, sum(input_tokens) AS input_tokens,
                    sum(output_tokens) AS output_tokens, sum(charged_micro) AS charged_micro
               FROM usage_by_key WHERE span = 'day' GROUP BY 1, 2, 3) u
       USING (organization_id, starts_at, outcome)
 WHERE (t.requests, t.input_tokens, t.output_tokens, t.charged_micro)
       IS DISTINCT FROM (u.requests, u.input_tokens, u.output_tokens, u.charged_micro)

-- I19: an expired record may be gone, and a body without a record is waiting for the sweep.
UNION ALL
SELECT 'I19 a stored response exists and is unchanged', COALESCE(s.reservation_id, d.reservation_id)::text,
       COALESCE(d.charged_micro, 0)::numeric
  FROM idempotency_seal s
  FULL JOIN (SELECT * FROM idempotency_record WHERE state = 'completed') d
       ON d.organization_id = s.organization_id AND d.reservation_id = s.reservation_id
 WHERE CASE WHEN d.reservation_id IS NULL THEN s.expires_at > clock_timestamp()
            ELSE s.digest IS DISTINCT FROM idempotency_record_digest(d) END
UNION ALL
SELECT 'I19 a stored response exists and is unchanged', COALESCE(b.reservation_id, d.reservation_id)::text,
       COALESCE(d.charged_micro, 0)::numeric
  FROM idempotency_body b
  FULL JOIN (SELECT * FROM idempotency_record WHERE state = 'completed' AND body_stored) d
       ON d.reservation_id = b.reservation_id AND d.organization_id = b.organization_id
 WHERE CASE WHEN b.reservation_id IS NULL THEN true
            ELSE b.digest IS DISTINCT FROM idempotency_body_digest(b.reservation_id, b.organization_id, b.head, b.tail)
                 AND (b.digest IS NOT NULL
                      OR b.created_at >= COALESCE((SELECT max(sealed_since) FROM receipt_history), '-infinity')) END

UNION ALL
SELECT 'I20 stored bytes are the sum of the stored responses', organization_id::text,
       (COALESCE(s.stored_bytes, 0) - COALESCE(b.bytes, 0))::numeric
  FROM idempotency_storage s
  FULL JOIN (SELECT organization_id, sum(octet_length(head) + COALESCE(octet_length(tail), 0)) AS bytes
               FROM idempotency_body GROUP BY 1) b USING (organization_id)
 WHERE COALESCE(s.stored_bytes, 0) <> COALESCE(b.bytes, 0);
