-- The only way into a final state: the end of the job, the end of its hold, artifacts, receipt and webhook delivery in one
-- transaction. Returns the job, or no row and changes nothing when the caller's assumptions do not hold:
--
-- - the status is none of `p_from`: the job has already ended;
-- - the fence is not `p_fence`: another worker has taken the job over (`NULL`: the caller is not a worker);
-- - the version is not `p_version`: the job has changed since it was read (`NULL`: any version);
-- - the job is to succeed but is not being finalized; to be canceled while its result is being fetched (for at most 60
--   seconds); to expire before its time.
--
-- Never charges more than the hold. A hold that has already ended is an inconsistency: the transaction fails, and the auditor
-- reports the job.
--
-- Locks the job, then the account. Submission locks the account first, but its job is not visible to others yet.
CREATE OR REPLACE FUNCTION media_job_finish(
  p_id uuid, p_status text, p_from text[], p_fence integer, p_version integer, p_cost bigint, p_error_code text,
  p_error_message text, p_artifacts jsonb, p_record jsonb, p_organization uuid,
  p_now timestamptz DEFAULT clock_timestamp()
) RETURNS SETOF media_job LANGUAGE plpgsql
AS $$
DECLARE
  v_now timestamptz := date_trunc('milliseconds', p_now);
  v_job media_job;
  v_answer text;
BEGIN
  UPDATE media_job j
     SET status = p_status, completed_at = v_now, version = j.version + 1, lease_owner = NULL, lease_until = NULL,
         cost_micro = CASE p_status WHEN 'succeeded' THEN LEAST(GREATEST(p_cost, 0), j.estimated_cost_micro) ELSE 0 END,
         progress = CASE WHEN p_status = 'succeeded' AND j.progress IS NOT NULL THEN 100 ELSE j.progress END,
         error_code = p_error_code, error_message = p_error_message,
         cancel_due_at = CASE WHEN p_status IN ('canceled', 'expired') AND j.provider_handle IS NOT NULL THEN v_now END
   WHERE j.organization_id = p_organization AND j.id = p_id AND j.status = ANY (p_from)
     AND (p_fence IS NULL OR j.fence = p_fence)
     AND (p_version IS NULL OR j.version = p_version)
     AND CASE p_status WHEN 'succeeded' THEN j.finalizing_at IS NOT NULL
                       WHEN 'canceled' THEN COALESCE(j.finalizing_at <= p_now - interval '60 seconds', true)
                       WHEN 'expired' THEN j.expires_at <= p_now
                       ELSE true END
  RETURNING * INTO v_job;
  IF NOT FOUND THEN
    RETURN;
  END IF;

  v_answer := money_finish(
    ARRAY[p_id], ARRAY[p_organization],
    ARRAY[CASE p_status WHEN 'succeeded' THEN 'settled' WHEN 'expired' THEN 'expired' ELSE 'released' END],
    ARRAY[v_job.cost_micro], jsonb_build_array(p_record));
  IF split_part(v_answer, ',', 1) <> 'applied' THEN
    RAISE EXCEPTION 'the hold of job % has already ended (%)', p_id, v_answer USING ERRCODE = 'check_violation';
  END IF;

  INSERT INTO media_artifact (organization_id, job_id, position, type, content_type, size_bytes, width, height,
                              duration_seconds, storage_key, created_at)
    SELECT p_organization, p_id, n - 1, a->>'type', a->>'contentType', (a->>'sizeBytes')::bigint, (a->>'width')::integer,
           (a->>'height')::integer, (a->>'durationSeconds')::double precision, a->>'storageKey', v_now
      FROM jsonb_array_elements(p_artifacts) WITH ORDINALITY AS artifact (a, n);

  -- `webhook_host` is NULL for jobs that the previous release accepted: their host is what the URL spells.
  IF v_job.webhook_url IS NOT NULL AND p_status IN ('succeeded', 'failed') THEN
    INSERT INTO webhook_delivery (job_id, organization_id, event, url, target_host, next_at, created_at)
    VALUES (p_id, p_organization,
            CASE p_status WHEN 'succeeded' THEN 'job.completed' ELSE 'job.failed' END, v_job.webhook_url,
            COALESCE(v_job.webhook_host, substring(lower(v_job.webhook_url) FROM '^https://(\[[^]]*\]|[^/?#:]*)'), ''),
            v_now, v_now);
  END IF;
  RETURN NEXT v_job;
END
$$;
