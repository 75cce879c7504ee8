-- I21 for the entries of a UTC day and of later days up to the next closed one: an entry leaves the balance of the entry before
-- it, plus itself. Entries from before the column have none.
--
-- The charges of a day belong to requests of at most 9 days: a job lasts at most 7. Its entries, and the entry before the first one
-- of each organization (`recent`), are read through indexes of these days. The ids of the days are constants of a plan that is made
-- for this call, so other partitions cost nothing. All are read only for an organization without an entry in these days, and where
-- the balances disagree: there, the entry before is also found by `id`, because entries are booked in its order also when the
-- clock of the database goes back. It is not known where charges of archived days may be missing in between.
CREATE OR REPLACE FUNCTION balance_violations(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  v_end date := COALESCE((SELECT min(d.day) FROM ledger_day d WHERE d.day > p_day AND d.closed_at IS NOT NULL), p_day + 1);
BEGIN
  RETURN QUERY
    SELECT 'I21 an entry leaves the balance before it plus itself', e.id::text,
           (COALESCE(e.balance_after_micro, 0) - COALESCE(booked.balance_after_micro, 0) - e.organization_delta_micro)::numeric
      FROM (SELECT l.*
              FROM (SELECT t.*, a.organization_id
                      FROM organization_account a,
                           LATERAL (SELECT t.id, t.created_at, t.organization_delta_micro, t.balance_after_micro,
                                           lag(t.id) OVER times AS before_id,
                                           lag(t.balance_after_micro) OVER times AS before_micro
                                      FROM ledger_entry t
                                     WHERE t.organization_id = a.organization_id
                                       AND (t.reservation_id IS NULL
                                            OR t.reservation_id BETWEEN first_id_of(p_day - 9) AND last_id_of(v_end))
                                       AND t.created_at >= p_day::timestamp AT TIME ZONE 'UTC'
                                       AND t.created_at < v_end::timestamp AT TIME ZONE 'UTC'
                                    WINDOW times AS (ORDER BY t.created_at, t.id)) t
                     WHERE t.before_id IS NULL
                        OR (t.before_micro IS NOT NULL
                            AND t.balance_after_micro IS DISTINCT FROM t.before_micro + t.organization_delta_micro)
                    OFFSET 0) l
              -- The first entry of each organization, and those that seem broken.
              LEFT JOIN LATERAL (
                SELECT b.balance_after_micro FROM ledger_entry b
                 WHERE b.organization_id = l.organization_id AND (b.created_at, b.id) < (l.created_at, l.id)
                   AND (b.reservation_id IS NULL
                        OR b.reservation_id BETWEEN first_id_of(p_day - 9) AND last_id_of(v_end))
                 ORDER BY b.created_at DESC, b.id DESC LIMIT 1) recent ON true
             WHERE recent.balance_after_micro IS NULL
                OR l.balance_after_micro IS DISTINCT FROM recent.balance_after_micro + l.organization_delta_micro
            OFFSET 0) e
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
       AND (booked.id IS NULL OR booked.id >= (SELECT ledger_last_archived_entry()));
END
$$;
