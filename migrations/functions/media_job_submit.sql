-- Accepts a job: writes its idempotency record in final form, its hold and the queued job (whose row wakes a worker), or none
-- of them.
--
-- - The lock of the account comes first, as in all money functions. A concurrent submission with the same key waits there and
--   then finds the record of the first one: submissions have no "in progress". The primary key of the record decides.
-- - `answer`: `accepted` (also for a repetition with the same id); `replayed`: the key belongs to another job;
--   `fingerprint_mismatch`: it was used for another body; else the refusal of `money_reserve`. The first two come with the `body`
--   and `headers` that every response to this key has.
-- - The body is text around the creation time, which only the database knows. It is stored however much the organization has
--   stored already: without it, a repeated submission would have no response.
-- - The hold outlasts the job by an hour, so that it exists when the job ends. The key is remembered for at least a day and
--   until a minute after the job expires: a later repetition would otherwise start, and charge, a second job.
-- - `p_webhook_host`: the host of `p_webhook_url`, the same for all its spellings. The previous release does not pass it.
CREATE OR REPLACE FUNCTION media_job_submit(
  p_id uuid, p_organization uuid, p_key uuid, p_kind text, p_model text, p_hold bigint, p_max_cost bigint,
  p_params json, p_settings json, p_route text[], p_webhook_url text, p_metadata json, p_ttl integer,
  p_operation text, p_idempotency_key text, p_fingerprint text, p_headers jsonb, p_body_head text, p_body_tail text,
  p_now timestamptz DEFAULT clock_timestamp(), p_trace_parent text DEFAULT NULL,
  p_webhook_host text DEFAULT NULL,
  OUT answer text, OUT body bytea, OUT headers jsonb
) LANGUAGE plpgsql
AS $$
DECLARE
  v_now timestamptz := date_trunc('milliseconds', p_now);
  v_known idempotency_record;
BEGIN
  PERFORM 1 FROM organization_account a WHERE a.organization_id = p_organization FOR UPDATE;

  DELETE FROM idempotency_record d
   WHERE d.organization_id = p_organization AND d.operation = p_operation AND d.key = p_idempotency_key
     AND d.state = 'completed' AND d.expires_at <= p_now;
  SELECT * INTO v_known FROM idempotency_record d
   WHERE d.organization_id = p_organization AND d.operation = p_operation AND d.key = p_idempotency_key;
  IF FOUND THEN
    answer := CASE WHEN v_known.fingerprint <> decode(p_fingerprint, 'hex') THEN 'fingerprint_mismatch'
                   WHEN v_known.reservation_id = p_id THEN 'accepted' ELSE 'replayed' END;
    IF answer <> 'fingerprint_mismatch' THEN
      headers := v_known.headers;
      SELECT b.head INTO body FROM idempotency_body b
       WHERE b.organization_id = p_organization AND b.reservation_id = v_known.reservation_id;
    END IF;
    RETURN;
  END IF;

  answer := money_reserve(ARRAY[p_id], ARRAY[p_organization], ARRAY[p_key], ARRAY[p_hold], ARRAY[p_ttl + 3600],
                          'media_job', v_now);
  IF answer <> 'held' THEN
    RETURN;
  END IF;

  answer := 'accepted';
  headers := p_headers;
  body := convert_to(p_body_head || to_char(v_now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || p_body_tail,
                     'UTF8');
  INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id, state, status,
                                  content_type, headers, charged_micro, body_stored, created_at, completed_at, expires_at)
  VALUES (p_organization, p_operation, p_idempotency_key, decode(p_fingerprint, 'hex'), p_id, 'completed', 202,
          'application/json; charset=utf-8', p_headers, 0, true, v_now, v_now,
          v_now + GREATEST(interval '24 hours', make_interval(secs => p_ttl + 60)));
  INSERT INTO idempotency_body (reservation_id, organization_id, head, bytes, created_at)
  VALUES (p_id, p_organization, body, octet_length(body), v_now);
  INSERT INTO idempotency_storage AS s (organization_id, stored_bytes) VALUES (p_organization, octet_length(body))
  ON CONFLICT (organization_id) DO UPDATE SET stored_bytes = s.stored_bytes + excluded.stored_bytes;

  INSERT INTO media_job (id, organization_id, key_id, kind, model, estimated_cost_micro, max_cost_micro, params, settings,
                         route, webhook_url, webhook_host, metadata, next_run_at, created_at, expires_at, trace_parent)
  VALUES (p_id, p_organization, p_key, p_kind, p_model, p_hold, p_max_cost, p_params, p_settings, p_route, p_webhook_url,
          p_webhook_host, p_metadata, v_now, v_now, v_now + make_interval(secs => p_ttl), p_trace_parent);
END
$$;
