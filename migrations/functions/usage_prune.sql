-- Removes at most `p_limit` receipts from before `p_before` and before receipts were partitioned by day; returns how many. Their
-- share of the totals stays. Each organization is read through its index, and rows that another process is removing are skipped.
-- `receipt_history` records from when on receipts are complete; most calls add nothing to it, because all calls of one run have
-- the same `p_before`.
CREATE OR REPLACE FUNCTION usage_prune(p_before timestamptz, p_limit integer) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off
AS $$
DECLARE
  v_count integer;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT r.organization_id, r.id
      FROM organization o,
           LATERAL (SELECT r.organization_id, r.id FROM usage_record_past r
                     WHERE r.organization_id = o.id AND r.created_at < p_before
                     ORDER BY r.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED) r
     LIMIT p_limit
  )
  DELETE FROM usage_record_past r USING old WHERE r.organization_id = old.organization_id AND r.id = old.id;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  IF v_count > 0 THEN
    INSERT INTO receipt_history (kept_since)
      SELECT p_before WHERE NOT EXISTS (SELECT FROM receipt_history WHERE kept_since >= p_before);
  END IF;
  RETURN v_count;
END
$$;
