-- Ended reservations with ids from `p_low` to `p_high`, summed by the windows that they count in. `broken_count`: rows that violate
-- I4 or I7.
--
-- `checksum` adds 64 bits of SHA-256 for every row, so that it does not depend on their order. The columns are encoded as
-- bytes, which no session setting changes. Callers that do not select it do not pay for it: the function is inlined.
CREATE OR REPLACE FUNCTION ledger_sums(p_low uuid, p_high uuid)
RETURNS TABLE (organization_id uuid, key_id uuid, day date, month date, reservation_count bigint, charge_count bigint,
               spent_micro numeric, uncollected_micro numeric, broken_count bigint, checksum numeric)
LANGUAGE sql STABLE
AS $$
SELECT r.organization_id, r.key_id, (r.created_at AT TIME ZONE 'UTC')::date,
       date_trunc('month', r.created_at AT TIME ZONE 'UTC')::date, count(*), count(r.entry_id),
       COALESCE(sum(r.charged_micro), 0), sum(r.uncollected_micro),
       count(*) FILTER (WHERE (r.state = 'settled') <> (r.charged_micro IS NOT NULL)
                           OR (r.entry_id IS NOT NULL) <> (COALESCE(r.charged_micro, 0) > 0)
                           OR (r.is_job AND r.charged_micro > r.amount_micro)),
       sum(('x' || encode(substring(sha256(
         uuid_send(r.id) || uuid_send(r.organization_id) || uuid_send(r.key_id) || textsend(r.state)
         || int8send(r.amount_micro) || int8send(COALESCE(r.charged_micro, -1)) || int8send(r.uncollected_micro)
         || int8send(COALESCE(r.entry_id, -1)) || int8send(COALESCE(r.balance_after_micro, -1))
         || timestamptz_send(r.created_at) || timestamptz_send(r.ended_at) || boolsend(r.is_job)
       ) FOR 8), 'hex'))::bit(64)::bigint)
  FROM ended_reservation r
 WHERE r.id BETWEEN p_low AND p_high
 GROUP BY 1, 2, 3, 4
$$;
