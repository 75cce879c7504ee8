-- Reservations with ids from `p_low` to `p_high` and the charges of such ids, summed. `organization_id` to `month` are those of
-- the reservations, NULL for charges without one. `broken_count`: pairs that violate I4, I5 or I7.
--
-- `checksum` adds 64 bits of SHA-256 for every pair, so that it does not depend on their order. The columns are encoded as
-- bytes, which no session setting changes. Callers that do not select it do not pay for it: the function is inlined.
CREATE OR REPLACE FUNCTION ledger_sums(p_low uuid, p_high uuid)
RETURNS TABLE (organization_id uuid, key_id uuid, day date, month date, booked_organization_id uuid,
               reservation_count bigint, held_count bigint, charge_count bigint, held_micro numeric, spent_micro numeric,
               booked_micro numeric, uncollected_micro numeric, broken_count bigint, checksum numeric)
LANGUAGE sql STABLE
AS $$
SELECT r.organization_id, r.key_id, r.day, r.month, COALESCE(l.organization_id, r.organization_id), count(r.id),
       count(*) FILTER (WHERE r.state = 'held'), count(l.id),
       COALESCE(sum(r.amount_micro) FILTER (WHERE r.state = 'held'), 0), COALESCE(sum(r.charged_micro), 0),
       COALESCE(-sum(l.organization_delta_micro), 0), COALESCE(sum(r.uncollected_micro), 0),
       count(*) FILTER (WHERE CASE WHEN r.state = 'settled' THEN r.charged_micro <> COALESCE(l.amount_micro, 0)
                                                                OR r.organization_id <> l.organization_id
                                   ELSE l.reservation_id IS NOT NULL END
                           OR (r.owner = 'media_job' AND r.charged_micro > r.amount_micro)),
       sum(('x' || encode(substring(sha256(
         COALESCE(uuid_send(r.id) || uuid_send(r.organization_id) || uuid_send(r.key_id) || textsend(r.state)
                  || int8send(r.amount_micro) || int8send(COALESCE(r.charged_micro, -1)) || int8send(r.uncollected_micro)
                  || date_send(r.day) || date_send(r.month) || textsend(r.owner) || timestamptz_send(r.expires_at)
                  || timestamptz_send(r.created_at) || COALESCE(timestamptz_send(r.ended_at), '') || boolsend(r.keyed), '')
         || COALESCE(int8send(l.id) || uuid_send(l.reservation_id) || uuid_send(l.organization_id)
                     || int8send(l.amount_micro) || int8send(l.organization_delta_micro)
                     || COALESCE(int8send(l.balance_after_micro), '') || timestamptz_send(l.created_at), '')
       ) FOR 8), 'hex'))::bit(64)::bigint)
  FROM (SELECT * FROM reservation WHERE id BETWEEN p_low AND p_high) r
  FULL JOIN (SELECT * FROM ledger_entry WHERE kind = 'charge' AND reservation_id BETWEEN p_low AND p_high) l
       ON l.reservation_id = r.id
 GROUP BY 1, 2, 3, 4, 5
$$;
