-- Takes the lease of a task until `p_seconds` from now, unless it has an owner or another transaction is taking it. Waits for none.
-- Until the end of its transaction a taker also has the lock of the row: with 0 seconds, the lease of a task that is one transaction
-- ends with it.
CREATE OR REPLACE FUNCTION task_lease_take(p_name text, p_owner text, p_seconds double precision) RETURNS boolean LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM FROM task_lease WHERE name = p_name AND until <= clock_timestamp() FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE task_lease SET owner = p_owner, until = clock_timestamp() + make_interval(secs => p_seconds) WHERE name = p_name;
  RETURN true;
END
$$;
