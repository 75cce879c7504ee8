-- What must not be found in a closed day before it is archived: afterwards, its requests can be compared neither with its jobs (I8)
-- nor with its receipts (I16).
CREATE OR REPLACE FUNCTION archiving_violations(p_day date)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT * FROM closed_day_violations(p_day)
UNION ALL
SELECT * FROM receipt_violations(first_id_of(p_day), last_id_of(p_day))
$$;
