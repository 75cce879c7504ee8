-- Those of a batch that have ended, by position. The bounds are constants of a plan that is made for this call, so only the
-- partitions of these days are planned, locked and read, however many there are.
CREATE OR REPLACE FUNCTION ended_reservations(p_ids uuid[], p_organizations uuid[])
RETURNS TABLE ("position" integer, state text, amount_micro bigint, charged_micro bigint, uncollected_micro bigint)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  v_low uuid := p_ids[1];
  v_high uuid := p_ids[1];
  v_id uuid;
BEGIN
  FOREACH v_id IN ARRAY p_ids LOOP
    IF v_id < v_low THEN v_low := v_id; ELSIF v_id > v_high THEN v_high := v_id; END IF;
  END LOOP;
  RETURN QUERY
    SELECT o.n::integer, e.state, e.amount_micro, e.charged_micro, e.uncollected_micro
      FROM unnest(p_ids, p_organizations) WITH ORDINALITY AS o (id, organization_id, n),
           LATERAL (
             SELECT r.* FROM ended_reservation r
              WHERE r.id = o.id AND r.organization_id = o.organization_id AND r.id >= v_low AND r.id <= v_high OFFSET 0
           ) e;
END
$$;
