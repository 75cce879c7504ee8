-- I21 for the charges of a UTC day's reservations and the other entries of that day: an entry leaves the balance of the entry
-- before it, plus itself. Entries from before the column have none.
--
-- The entry before is found by time, through an index. Where that disagrees it is found by `id`, in whose order entries are
-- booked also when the clock of the database goes back.
CREATE OR REPLACE FUNCTION balance_violations(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT 'I21 an entry leaves the balance before it plus itself', e.id::text,
       (COALESCE(e.balance_after_micro, 0) - COALESCE(booked.balance_after_micro, 0) - e.organization_delta_micro)::numeric
  FROM (SELECT l.id, l.organization_id, l.organization_delta_micro, l.balance_after_micro
          FROM (SELECT * FROM ledger_entry
                 WHERE kind = 'charge' AND reservation_id BETWEEN first_id_of(p_day) AND last_id_of(p_day)
                UNION ALL
                SELECT * FROM ledger_entry
                 WHERE kind <> 'charge' AND created_at >= p_day::timestamp AT TIME ZONE 'UTC'
                   AND created_at < (p_day + 1)::timestamp AT TIME ZONE 'UTC') l
          LEFT JOIN LATERAL (
            SELECT b.id, b.balance_after_micro FROM ledger_entry b
             WHERE b.organization_id = l.organization_id AND (b.created_at, b.id) < (l.created_at, l.id)
             ORDER BY b.created_at DESC, b.id DESC LIMIT 1) before ON true
         WHERE CASE WHEN before.id IS NULL THEN l.balance_after_micro <> l.organization_delta_micro
                    WHEN before.balance_after_micro IS NOT NULL
                    THEN l.balance_after_micro IS DISTINCT FROM before.balance_after_micro + l.organization_delta_micro END
        OFFSET 0) e
  LEFT JOIN LATERAL (
    SELECT b.id, b.balance_after_micro FROM ledger_entry b
     WHERE b.organization_id = e.organization_id AND b.id < e.id ORDER BY b.id DESC LIMIT 1) booked ON true
 WHERE CASE WHEN booked.id IS NULL THEN e.balance_after_micro <> e.organization_delta_micro
            WHEN booked.balance_after_micro IS NOT NULL
            THEN e.balance_after_micro IS DISTINCT FROM booked.balance_after_micro + e.organization_delta_micro END
$$;
