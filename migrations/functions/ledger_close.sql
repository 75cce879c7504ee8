-- Closes a UTC day: its sums and its checksum take the place of its requests in the audit. Returns no rows when the day is closed
-- or has nothing to close; `held`: a hold of this day has not ended; else its violations, and it stays open.
--
-- Locks no row that requests use. The advisory lock of the day excludes reservations of this day that are being
-- written (`closed_day_stays`); later ones are refused.
CREATE OR REPLACE FUNCTION ledger_close(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE plpgsql SET jit = off SET work_mem = '64MB'
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger_close'), p_day - DATE '2000-01-01');
  IF EXISTS (SELECT FROM ledger_day d WHERE d.day = p_day AND d.closed_at IS NOT NULL) THEN
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM hold h WHERE h.id BETWEEN first_id_of(p_day) AND last_id_of(p_day)) THEN
    RETURN QUERY SELECT 'held', p_day::text, 0::numeric;
    RETURN;
  END IF;
  IF NOT EXISTS (SELECT FROM ended_reservation r WHERE r.id BETWEEN first_id_of(p_day) AND last_id_of(p_day)) THEN
    RETURN;
  END IF;

  RETURN QUERY
    SELECT v.* FROM ending_violations(first_id_of(p_day), last_id_of(p_day)) v
    UNION ALL
    SELECT v.* FROM job_violations(first_id_of(p_day), last_id_of(p_day)) v
    UNION ALL
    SELECT v.* FROM balance_violations(p_day) v
    UNION ALL
    SELECT v.* FROM day_window_violations(p_day) v;
  IF FOUND THEN
    RETURN;
  END IF;

  WITH sums AS MATERIALIZED (
    SELECT s.* FROM ledger_sums(first_id_of(p_day), last_id_of(p_day)) s
  ), windows AS (
    INSERT INTO ledger_closing_window (closed_day, organization_id, key_id, day, month, spent_micro)
      SELECT p_day, organization_id, key_id, day, month, sum(spent_micro) FROM sums GROUP BY 2, 3, 4, 5
  ), closings AS (
    INSERT INTO ledger_closing (day, organization_id, reservation_count, charge_count, charged_micro, uncollected_micro,
                                checksum)
      SELECT p_day, organization_id, sum(reservation_count), sum(charge_count), sum(spent_micro),
             sum(uncollected_micro), sum(checksum)
        FROM sums GROUP BY 2
  )
  INSERT INTO ledger_day (day, closed_at) VALUES (p_day, clock_timestamp())
  ON CONFLICT (day) DO UPDATE SET closed_at = excluded.closed_at, violations = '[]', verified_at = '-infinity';
END
$$;
