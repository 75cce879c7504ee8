-- The positions of a batch whose requests have a receipt. As in `ended_reservations`, only the partitions of these days are
-- planned, locked and read: with a partition for each day of three years, a plan for any id would take some 3,000 locks.
CREATE OR REPLACE FUNCTION recorded_receipts(p_ids uuid[], p_organizations uuid[], p_positions integer[])
RETURNS SETOF integer LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  v_low uuid := p_ids[p_positions[1]];
  v_high uuid := v_low;
  v_position integer;
BEGIN
  FOREACH v_position IN ARRAY p_positions LOOP
    IF p_ids[v_position] < v_low THEN v_low := p_ids[v_position];
    ELSIF p_ids[v_position] > v_high THEN v_high := p_ids[v_position];
    END IF;
  END LOOP;
  RETURN QUERY
    SELECT n FROM unnest(p_positions) AS n,
           LATERAL (
             SELECT FROM usage_record u
              WHERE u.id = p_ids[n] AND u.organization_id = p_organizations[n] AND u.id >= v_low AND u.id <= v_high OFFSET 0
           ) receipt;
END
$$;
