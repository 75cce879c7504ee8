-- I8 for jobs with ids from `p_low` to `p_high`. An ended hold may have no job any more, because the job was deleted.
CREATE OR REPLACE FUNCTION job_violations(p_low uuid, p_high uuid)
RETURNS TABLE (invariant text, subject text, difference_micro numeric) LANGUAGE sql STABLE
AS $$
SELECT 'I8 a job and its hold end together in matching states', j.id::text,
       (COALESCE(r.charged_micro, 0) - j.cost_micro)::numeric
  FROM media_job j
  LEFT JOIN (SELECT id, organization_id, 'held' AS state, amount_micro, NULL::bigint AS charged_micro
               FROM hold WHERE id BETWEEN p_low AND p_high AND owner = 'media_job'
             UNION ALL
             SELECT id, organization_id, state, amount_micro, charged_micro
               FROM ended_reservation WHERE id BETWEEN p_low AND p_high AND is_job) r
    ON r.id = j.id AND r.organization_id = j.organization_id
 WHERE j.id BETWEEN p_low AND p_high
   AND (r.id IS NULL OR r.amount_micro <> j.estimated_cost_micro OR COALESCE(r.charged_micro, 0) <> j.cost_micro
        OR r.state <> CASE j.status WHEN 'succeeded' THEN 'settled' WHEN 'failed' THEN 'released'
                                    WHEN 'canceled' THEN 'released' WHEN 'expired' THEN 'expired' ELSE 'held' END)
$$;
