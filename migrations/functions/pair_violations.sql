-- I4, I5 and I7 for reservations with ids from `p_low` to `p_high` and the charges of such ids. OFFSET 0 keeps the few pairs that
-- violate an invariant apart from the check of all pairs, which is that of `ledger_sums`.
CREATE OR REPLACE FUNCTION pair_violations(p_low uuid, p_high uuid)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT broken.invariant, broken.subject::text, broken.difference
  FROM (SELECT COALESCE(r.id, l.reservation_id) AS id, r.state, r.owner, r.amount_micro, r.charged_micro,
               r.organization_id = l.organization_id AS is_same_organization, l.amount_micro AS entry_micro
          FROM (SELECT * FROM reservation WHERE id BETWEEN p_low AND p_high) r
          FULL JOIN (SELECT * FROM ledger_entry WHERE kind = 'charge' AND reservation_id BETWEEN p_low AND p_high) l
               ON l.reservation_id = r.id
         WHERE CASE WHEN r.state = 'settled' THEN r.charged_micro <> COALESCE(l.amount_micro, 0)
                                                  OR r.organization_id <> l.organization_id
                    ELSE l.reservation_id IS NOT NULL END
            OR (r.owner = 'media_job' AND r.charged_micro > r.amount_micro)
        OFFSET 0) pair,
       LATERAL (
         VALUES ('I4 settled has its charge', pair.id,
                 CASE WHEN state = 'settled'
                      THEN charged_micro - CASE WHEN is_same_organization THEN entry_micro ELSE 0 END END::numeric),
                ('I5 a charge belongs to a settled reservation', pair.id,
                 CASE WHEN state IS DISTINCT FROM 'settled' THEN entry_micro END::numeric),
                ('I7 a job is charged at most what it holds', pair.id,
                 CASE WHEN owner = 'media_job' THEN GREATEST(charged_micro - amount_micro, 0) END::numeric)
       ) broken (invariant, subject, difference)
 WHERE broken.difference <> 0
$$;
