-- Releases reservations whose outcome is unknown. Where one does not exist, its id is taken, so that a statement that is still
-- in flight cannot create it later. Safe to repeat.
CREATE OR REPLACE FUNCTION money_void(p_ids uuid[], p_organizations uuid[], p_keys uuid[], p_owner text)
RETURNS void LANGUAGE plpgsql SET lock_timeout = '250ms'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  PERFORM 1 FROM organization_account a WHERE a.organization_id = ANY (p_organizations)
    ORDER BY a.organization_id FOR UPDATE;
  INSERT INTO reservation (id, organization_id, key_id, state, amount_micro, day, month, owner, expires_at,
                           created_at, ended_at)
    SELECT o.id, o.organization_id, o.key_id, 'released', 0, (v_now AT TIME ZONE 'UTC')::date,
           date_trunc('month', v_now AT TIME ZONE 'UTC')::date, p_owner, v_now, v_now, v_now
      FROM unnest(p_ids, p_organizations, p_keys) AS o (id, organization_id, key_id)
  ON CONFLICT (id) DO NOTHING;
  PERFORM money_finish(p_ids, p_organizations, array_fill('released'::text, ARRAY[cardinality(p_ids)]),
                       array_fill(0::bigint, ARRAY[cardinality(p_ids)]), NULL, v_now);
END
$$;
