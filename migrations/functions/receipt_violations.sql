-- I16 for ended reservations and receipts with ids from `p_low` to `p_high`. Holds that expire have no receipt, others that end
-- without a charge need none, and one that is held has none yet. Receipts may outlast the requests of an archived day. An
-- uncollected amount that is NULL is 0.
CREATE OR REPLACE FUNCTION receipt_violations(p_low uuid, p_high uuid)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT 'I16 a charge has a matching receipt', COALESCE(u.id, r.id)::text,
       (COALESCE(u.charged_micro + COALESCE(u.uncollected_micro, 0), 0)
        - COALESCE(r.charged_micro + r.uncollected_micro, 0))::numeric
  FROM (SELECT * FROM ended_reservation WHERE id BETWEEN p_low AND p_high) r
  FULL JOIN (SELECT * FROM usage_record WHERE id BETWEEN p_low AND p_high) u
    ON u.id = r.id AND u.organization_id = r.organization_id
 WHERE CASE WHEN u.id IS NULL
            THEN r.state = 'settled'
                 AND r.ended_at >= COALESCE((SELECT max(kept_since) FROM receipt_history), '-infinity')
            WHEN r.id IS NULL
            THEN NOT EXISTS (SELECT FROM ledger_archive a WHERE a.day = day_of_id(u.id) AND a.exported_at IS NOT NULL)
            ELSE (u.key_id, u.hold_micro, u.charged_micro, COALESCE(u.uncollected_micro, 0))
                 IS DISTINCT FROM (r.key_id, r.amount_micro, COALESCE(r.charged_micro, 0), r.uncollected_micro)
       END
$$;
