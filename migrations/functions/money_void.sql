-- Releases reservations whose outcome is unknown. Where one does not exist, its id is taken, so that a statement that is still
-- in flight cannot create it later. Safe to repeat. Nothing is held, so `p_owner` is not stored.
CREATE OR REPLACE FUNCTION money_void(p_ids uuid[], p_organizations uuid[], p_keys uuid[], p_owner text)
RETURNS void LANGUAGE plpgsql SET lock_timeout = '250ms'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  PERFORM 1 FROM organization_account a WHERE a.organization_id = ANY (p_organizations)
    ORDER BY a.organization_id FOR UPDATE;
  INSERT INTO ended_reservation (amount_micro, uncollected_micro, created_at, ended_at, id, organization_id, key_id, is_job,
                                 state)
    SELECT 0, 0, v_now, v_now, o.id, o.organization_id, o.key_id, false, 'released'
      FROM unnest(p_ids, p_organizations, p_keys) AS o (id, organization_id, key_id)
     WHERE NOT EXISTS (SELECT FROM hold h WHERE h.organization_id = o.organization_id AND h.id = o.id)
  ON CONFLICT (id, organization_id) DO NOTHING;
  PERFORM money_finish(p_ids, p_organizations, array_fill('released'::text, ARRAY[cardinality(p_ids)]),
                       array_fill(0::bigint, ARRAY[cardinality(p_ids)]), NULL, v_now);
END
$$;
