-- The first UTC day whose requests the audit reads one by one; NULL without requests. Every process asks for it every 10 seconds.
-- The bounds are constants of plans that are made for this call: the plan of all partitions of a year would take 0.15 s.
CREATE OR REPLACE FUNCTION ledger_oldest_open_day() RETURNS date LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  v_id uuid;
  r record;
BEGIN
  FOR r IN SELECT o.low::uuid AS low, o.high::uuid AS high FROM ledger_open_range o ORDER BY 1 LOOP
    SELECT e.id INTO v_id FROM ended_reservation e WHERE e.id BETWEEN r.low AND r.high ORDER BY e.id LIMIT 1;
    EXIT WHEN FOUND;
  END LOOP;
  RETURN LEAST(day_of_id(v_id), (SELECT min(day_of_id(h.id)) FROM hold h));
END
$$;
