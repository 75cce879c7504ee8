-- Removes up to `p_limit` expired records with their bodies or, when there are none, up to as many bodies without a record; per
-- call about 64 MiB of bodies at most. Returns the number of removed records and orphaned bodies: call it until that is 0. Each
-- call reads only what it removes.
--
-- A body is written before the transaction that completes its record, so a body has no record when that transaction never came
-- or when its expired key was claimed again. Only bodies older than the lifetime of any record are checked for that; otherwise
-- every sweep would look up the records of all bodies.
--
-- The lease of the task admits one sweeper at a time, so no two of them lock several counters.
CREATE OR REPLACE FUNCTION idempotency_sweep(p_limit integer, p_owner text DEFAULT '') RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_records integer;
  v_bodies integer := 0;
BEGIN
  IF NOT task_lease_take('idempotency_sweep', p_owner, 0) THEN
    RETURN 0;
  END IF;

  WITH expired AS (
    SELECT e.organization_id, e.reservation_id, COALESCE(sum(b.bytes) OVER (ORDER BY e.expires_at, e.reservation_id), 0)
                             - COALESCE(b.bytes, 0) AS bytes_before
      FROM (SELECT d.organization_id, d.reservation_id, d.expires_at FROM idempotency_record d
             WHERE d.state = 'completed' AND d.expires_at <= v_now
             ORDER BY d.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED) e
      LEFT JOIN idempotency_body b ON b.organization_id = e.organization_id AND b.reservation_id = e.reservation_id
  ), forgotten AS (
    DELETE FROM idempotency_record d USING expired e
     WHERE d.organization_id = e.organization_id AND d.reservation_id = e.reservation_id AND e.bytes_before < 67108864
    RETURNING d.organization_id, d.reservation_id
  ), gone AS (
    DELETE FROM idempotency_body b USING forgotten f
     WHERE b.organization_id = f.organization_id AND b.reservation_id = f.reservation_id
    RETURNING b.organization_id, b.bytes
  ), freed AS (
    UPDATE idempotency_storage s SET stored_bytes = s.stored_bytes - t.bytes
      FROM (SELECT organization_id, sum(bytes)::bigint AS bytes FROM gone GROUP BY 1) t
     WHERE s.organization_id = t.organization_id
  )
  SELECT count(*) INTO v_records FROM forgotten;

  IF v_records = 0 THEN
    WITH orphan AS (
      SELECT c.organization_id, c.reservation_id
        FROM (SELECT b.organization_id, b.reservation_id, b.bytes,
                     sum(b.bytes) OVER (ORDER BY b.reservation_id) AS running_bytes
                FROM (SELECT organization_id, reservation_id, bytes FROM idempotency_body
                       WHERE created_at < v_now - interval '25 hours'
                         AND NOT EXISTS (SELECT FROM idempotency_record d
                                          WHERE d.organization_id = idempotency_body.organization_id
                                            AND d.reservation_id = idempotency_body.reservation_id)
                       LIMIT p_limit) b) c
       WHERE c.running_bytes - c.bytes < 67108864
    ), gone AS (
      DELETE FROM idempotency_body b USING orphan o
       WHERE b.organization_id = o.organization_id AND b.reservation_id = o.reservation_id
      RETURNING b.organization_id, b.bytes
    ), freed AS (
      UPDATE idempotency_storage s SET stored_bytes = s.stored_bytes - t.bytes
        FROM (SELECT organization_id, sum(bytes)::bigint AS bytes FROM gone GROUP BY 1) t
       WHERE s.organization_id = t.organization_id
    )
    SELECT count(*) INTO v_bodies FROM gone;
  END IF;
  RETURN v_records + v_bodies;
END
$$;
