-- What `ledger verify` and the periodic audit find in a closed day: I4, I7, I8 and I21 of its requests; I22: the requests are
-- those that were closed; I6: complete windows are the sums of the closings. Windows from one closed day up to the next belong
-- to the former, so that every complete window is checked with exactly one day. The requests of an archived day are no longer
-- read, also before they are removed: its archive is compared with the closings instead.
CREATE OR REPLACE FUNCTION closed_day_violations(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
WITH archive AS MATERIALIZED (
  SELECT * FROM ledger_archive WHERE day = p_day AND exported_at IS NOT NULL
), sums AS MATERIALIZED (
  SELECT s.* FROM ledger_sums(first_id_of(p_day), last_id_of(p_day)) s WHERE NOT EXISTS (SELECT FROM archive)
), closed AS MATERIALIZED (
  SELECT COALESCE((SELECT max(day) FROM ledger_day WHERE closed_at IS NOT NULL AND day < p_day), '-infinity') AS before,
         COALESCE((SELECT min(day) FROM ledger_day WHERE closed_at IS NOT NULL AND day > p_day), 'infinity') AS after,
         (SELECT max(day) + 1 FROM ledger_day WHERE closed_at IS NOT NULL) AS until
), span AS MATERIALIZED (
  SELECT s.scope::smallint AS scope,
         CASE WHEN before = '-infinity' THEN before WHEN scope = 2 THEN p_day ELSE date_trunc('month', p_day)::date END AS low,
         CASE WHEN scope = 2 THEN LEAST(after, until) ELSE date_trunc('month', LEAST(after, until))::date END AS high
    FROM closed, (VALUES (1), (2), (3)) s (scope)
), different AS MATERIALIZED (
  SELECT organization_id, scope, scope_id, window_start, COALESCE(w.reserved_micro, 0) AS reserved,
         COALESCE(w.spent_micro, 0) - COALESCE(x.spent, 0) AS spent
    FROM (SELECT w.* FROM span s, spend_window w
           WHERE w.scope = s.scope AND w.window_start >= s.low AND w.window_start < s.high) w
    FULL JOIN (SELECT c.organization_id, s.scope, CASE s.scope WHEN 1 THEN c.organization_id ELSE c.key_id END AS scope_id,
                      CASE s.scope WHEN 2 THEN c.day ELSE c.month END AS window_start, sum(c.spent_micro) AS spent
                 FROM span s, ledger_closing_window c
                WHERE c.day >= s.low AND c.day < s.high
                GROUP BY 1, 2, 3, 4) x USING (organization_id, scope, scope_id, window_start)
   WHERE COALESCE(w.reserved_micro, 0) <> 0 OR COALESCE(w.spent_micro, 0) <> COALESCE(x.spent, 0)
)
SELECT v.* FROM ending_violations(first_id_of(p_day), last_id_of(p_day)) v WHERE (SELECT sum(broken_count) FROM sums) > 0
UNION ALL
SELECT v.* FROM job_violations(first_id_of(p_day), last_id_of(p_day)) v WHERE NOT EXISTS (SELECT FROM archive)
UNION ALL
SELECT * FROM balance_violations(p_day)

UNION ALL
SELECT 'I22 a closed day is as it was closed', p_day || ' ' || organization_id,
       COALESCE(c.charged_micro, 0) - COALESCE(s.charged, 0)
  FROM (SELECT * FROM ledger_closing WHERE day = p_day AND NOT EXISTS (SELECT FROM archive)) c
  FULL JOIN (SELECT organization_id, sum(reservation_count) AS reservations, sum(charge_count) AS charges,
                    sum(spent_micro) AS charged, sum(uncollected_micro) AS uncollected, sum(checksum) AS checksum
               FROM sums GROUP BY 1) s USING (organization_id)
 WHERE (c.reservation_count, c.charge_count, c.charged_micro, c.uncollected_micro, c.checksum)
       IS DISTINCT FROM (s.reservations, s.charges, s.charged, s.uncollected, s.checksum)
UNION ALL
SELECT 'I22 a closed day is as it was closed', p_day || ' ' || organization_id || ' ' || key_id,
       COALESCE(c.spent_micro, 0) - COALESCE(s.spent, 0)
  FROM (SELECT * FROM ledger_closing_window WHERE closed_day = p_day AND NOT EXISTS (SELECT FROM archive)) c
  FULL JOIN (SELECT organization_id, key_id, day, month, sum(spent_micro) AS spent FROM sums
              GROUP BY 1, 2, 3, 4) s USING (organization_id, key_id, day, month)
 WHERE c.spent_micro IS DISTINCT FROM s.spent

UNION ALL
SELECT 'I22 a closed day is as it was closed', p_day || ' archive', COALESCE(c.charged, 0) - a.charged_micro
  FROM archive a,
       (SELECT sum(reservation_count) AS reservations, sum(charge_count) AS charges, sum(charged_micro) AS charged,
               sum(uncollected_micro) AS uncollected, sum(checksum) AS checksum FROM ledger_closing WHERE day = p_day) c
 WHERE (a.reservation_count, a.charge_count, a.charged_micro, a.uncollected_micro, a.checksum)
       IS DISTINCT FROM (c.reservations, c.charges, c.charged, c.uncollected, c.checksum)
    OR a.digest IS DISTINCT FROM ledger_archive_digest(a)
    OR (a.removed_at IS NOT NULL
        AND EXISTS (SELECT FROM ended_reservation r WHERE r.id BETWEEN first_id_of(p_day) AND last_id_of(p_day)))
UNION ALL
SELECT 'I22 a closed day is as it was closed', p_day || ' ' || organization_id,
       COALESCE(c.charged_micro, 0) - COALESCE(w.spent, 0)
  FROM (SELECT * FROM ledger_closing WHERE day = p_day AND EXISTS (SELECT FROM archive)) c
  FULL JOIN (SELECT organization_id, sum(spent_micro) AS spent FROM ledger_closing_window
              WHERE closed_day = p_day AND EXISTS (SELECT FROM archive) GROUP BY 1) w USING (organization_id)
 WHERE c.charged_micro IS DISTINCT FROM w.spent

-- The open days are only read when a window differs: it may count reservations of days that are not closed.
UNION ALL
SELECT 'I6 a window is the sum of its reservations', d.scope || ' ' || d.scope_id || ' ' || d.window_start,
       d.reserved - COALESCE(o.held, 0) + d.spent - COALESCE(o.spent, 0)
  FROM different d
  LEFT JOIN (SELECT r.organization_id, s.scope, CASE s.scope WHEN 1 THEN r.organization_id ELSE r.key_id END AS scope_id,
                    CASE s.scope WHEN 2 THEN r.day ELSE r.month END AS window_start,
                    sum(r.held_micro) AS held, sum(r.spent_micro) AS spent
               FROM ledger_open_spending r, (VALUES (1), (2), (3)) s (scope)
              WHERE EXISTS (SELECT FROM different)
              GROUP BY 1, 2, 3, 4) o USING (organization_id, scope, scope_id, window_start)
 WHERE d.reserved <> COALESCE(o.held, 0) OR d.spent <> COALESCE(o.spent, 0)
$$;
