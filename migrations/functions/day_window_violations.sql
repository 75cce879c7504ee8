-- I6 for the windows of a UTC day that is about to be closed. Its reservations are those of the day and, around midnight, of its
-- neighbours; all open days are only read when a window differs from them.
CREATE OR REPLACE FUNCTION day_window_violations(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
WITH different AS MATERIALIZED (
  SELECT FROM (SELECT organization_id, scope_id AS key_id, spent_micro FROM spend_window
                WHERE scope = 2 AND window_start = p_day) w
  FULL JOIN (SELECT organization_id, key_id, sum(spent_micro) AS spent_micro
               FROM (SELECT s.organization_id, s.key_id, s.spent_micro
                       FROM generate_series(p_day - 1, p_day + 1, interval '1 day') d (day),
                            LATERAL ledger_sums(first_id_of(d.day::date), last_id_of(d.day::date)) s
                      WHERE s.day = p_day
                        AND NOT EXISTS (SELECT FROM ledger_day c WHERE c.day = d.day::date AND c.closed_at IS NOT NULL)
                     UNION ALL
                     SELECT organization_id, key_id, spent_micro FROM ledger_closing_window WHERE day = p_day) requests
              GROUP BY 1, 2) x USING (organization_id, key_id)
   WHERE COALESCE(w.spent_micro, 0) <> COALESCE(x.spent_micro, 0)
   LIMIT 1
)
SELECT v.invariant, v.subject, v.difference_micro FROM money_violations v
 WHERE v.invariant LIKE 'I6 %' AND v.subject LIKE '2 %' AND v.subject LIKE '% ' || p_day
   AND EXISTS (SELECT FROM different)
$$;
