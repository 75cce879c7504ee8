-- I21 for the entries of a UTC day and of later days up to the next closed one: an entry leaves the balance of the entry before
-- it, plus itself. Entries from before the column have none.
--
-- The charges of a day belong to requests of at most 9 days: a job lasts at most 7. Its entries are read by organization in the
-- order of time, through indexes. Where that order disagrees with the balances,
-- the entry before is found by `id`: entries are booked in its order also when the clock of the database goes back. It is not
-- known where charges of archived days may be missing in between.
CREATE OR REPLACE FUNCTION balance_violations(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT 'I21 an entry leaves the balance before it plus itself', e.id::text,
       (COALESCE(e.balance_after_micro, 0) - COALESCE(booked.balance_after_micro, 0) - e.organization_delta_micro)::numeric
  FROM (SELECT l.*, a.organization_id
          FROM organization_account a,
               LATERAL (SELECT t.id, t.created_at, t.organization_delta_micro, t.balance_after_micro,
                               lag(t.id) OVER times AS before_id, lag(t.balance_after_micro) OVER times AS before_micro
                          FROM ledger_entry t
                         WHERE t.organization_id = a.organization_id
                           AND (t.reservation_id IS NULL OR t.reservation_id >= first_id_of(p_day - 9))
                           AND t.created_at >= p_day::timestamp AT TIME ZONE 'UTC'
                           AND t.created_at < COALESCE((SELECT min(day) FROM ledger_day
                                                         WHERE day > p_day AND closed_at IS NOT NULL),
                                                       p_day + 1)::timestamp AT TIME ZONE 'UTC'
                        WINDOW times AS (ORDER BY t.created_at, t.id)) l
         WHERE l.before_id IS NULL
            OR (l.before_micro IS NOT NULL
                AND l.balance_after_micro IS DISTINCT FROM l.before_micro + l.organization_delta_micro)
        OFFSET 0) e
  -- The first entry of each organization, and those that seem broken.
  LEFT JOIN LATERAL (
    SELECT b.id, b.balance_after_micro FROM ledger_entry b
     WHERE b.organization_id = e.organization_id AND (b.created_at, b.id) < (e.created_at, e.id)
     ORDER BY b.created_at DESC, b.id DESC LIMIT 1) before ON true
  LEFT JOIN LATERAL (
    SELECT b.id, b.balance_after_micro FROM ledger_entry b
     WHERE b.organization_id = e.organization_id AND b.id < e.id ORDER BY b.id DESC LIMIT 1) booked
       ON CASE WHEN before.id IS NULL THEN e.balance_after_micro <> e.organization_delta_micro
               ELSE before.balance_after_micro IS NOT NULL
                    AND e.balance_after_micro IS DISTINCT FROM before.balance_after_micro + e.organization_delta_micro END
 WHERE CASE WHEN before.id IS NULL THEN e.balance_after_micro <> e.organization_delta_micro
            WHEN before.balance_after_micro IS NOT NULL
            THEN e.balance_after_micro IS DISTINCT FROM before.balance_after_micro + e.organization_delta_micro END
   AND CASE WHEN booked.id IS NULL THEN e.balance_after_micro <> e.organization_delta_micro
            WHEN booked.balance_after_micro IS NOT NULL
            THEN e.balance_after_micro IS DISTINCT FROM booked.balance_after_micro + e.organization_delta_micro END
   AND (booked.id IS NULL OR booked.id >= (SELECT ledger_last_archived_entry()))
$$;
