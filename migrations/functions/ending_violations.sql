-- I4 and I7 for ended reservations with ids from `p_low` to `p_high`.
CREATE OR REPLACE FUNCTION ending_violations(p_low uuid, p_high uuid)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT 'I4 a settled reservation has its charge, and no other has one', r.id::text, COALESCE(r.charged_micro, 0)::numeric
  FROM ended_reservation r
 WHERE r.id BETWEEN p_low AND p_high
   AND ((r.state = 'settled') <> (r.charged_micro IS NOT NULL)
        OR (r.entry_id IS NOT NULL) <> (COALESCE(r.charged_micro, 0) > 0))
UNION ALL
SELECT 'I7 a job is charged at most what it holds', r.id::text, (r.charged_micro - r.amount_micro)::numeric
  FROM ended_reservation r
 WHERE r.id BETWEEN p_low AND p_high AND r.is_job AND r.charged_micro > r.amount_micro
$$;
