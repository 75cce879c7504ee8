-- Expires up to `p_limit` holds that are overdue or whose owner's lease is 20 seconds old, and removes leases that own no hold.
-- Returns the number of holds ended. Holds of media jobs belong to no process and end only with their job.
--
-- Only an instance with 10 seconds of steady heartbeats may sweep: after an outage of the database all leases look dead, and
-- live processes must be able to renew theirs first. The lease of the task admits one sweeper at a time.
--
-- Holds of a locked account wait for the next sweep: waiting for the lock could fail the sweep of all other organizations. Only
-- accounts are locked here, without waiting and hence in any order; locking holds before them would deadlock with
-- `money_finish`. A hold that ends in between is no longer held when `money_finish` reads it.
CREATE OR REPLACE FUNCTION money_sweep(p_instance text, p_limit integer) RETURNS integer LANGUAGE plpgsql
-- Holds are few beside the accounts of a large installation.
SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_ids uuid[];
  v_organizations uuid[];
BEGIN
  IF NOT EXISTS (SELECT FROM gateway_instance g
                  WHERE g.id = p_instance AND g.steady_since <= v_now - interval '10 seconds'
                    AND g.heartbeat_at > v_now - interval '10 seconds')
     OR NOT task_lease_take('money_sweep', p_instance, 0) THEN
    RETURN 0;
  END IF;

  SELECT array_agg(o.id), array_agg(o.organization_id) INTO v_ids, v_organizations
    FROM (SELECT r.id, r.organization_id
            FROM hold r
            JOIN organization_account a ON a.organization_id = r.organization_id
            LEFT JOIN gateway_instance g ON g.id = r.owner
           WHERE r.owner <> 'media_job'
             AND (r.expires_at <= v_now
                  OR COALESCE(g.heartbeat_at, r.created_at) < v_now - interval '20 seconds')
           LIMIT p_limit FOR UPDATE OF a SKIP LOCKED) o;
  IF v_ids IS NOT NULL THEN
    PERFORM money_finish(v_ids, v_organizations, array_fill('expired'::text, ARRAY[cardinality(v_ids)]),
                         array_fill(0::bigint, ARRAY[cardinality(v_ids)]), NULL, v_now);
  END IF;

  DELETE FROM gateway_instance g
   WHERE g.heartbeat_at < v_now - interval '1 minute'
     AND NOT EXISTS (SELECT FROM hold r WHERE r.owner = g.id);
  RETURN COALESCE(cardinality(v_ids), 0);
END
$$;
