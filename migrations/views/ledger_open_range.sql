-- The ids whose days are not closed, as ranges: those between closed days, and all after the last one. Without a closed day it is
-- one range of all ids.
CREATE OR REPLACE VIEW ledger_open_range AS
SELECT CASE WHEN before IS NULL THEN '00000000-0000-0000-0000-000000000000' ELSE first_id_of(before + 1) END AS low,
       CASE WHEN day IS NULL THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE last_id_of(day - 1) END AS high
  FROM (SELECT day, lag(day) OVER (ORDER BY day NULLS LAST) AS before
          FROM (SELECT day FROM ledger_day WHERE closed_at IS NOT NULL UNION ALL SELECT NULL) d) gap
 WHERE day IS NULL OR before IS NULL OR day > before + 1;
