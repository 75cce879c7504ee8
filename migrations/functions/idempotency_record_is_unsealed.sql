-- Removes the seal together with an expired record. The seal of a record that was removed too early stays, and the auditor
-- reports it.
CREATE OR REPLACE FUNCTION idempotency_record_is_unsealed() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM idempotency_seal s
   WHERE s.organization_id = OLD.organization_id AND s.reservation_id = OLD.reservation_id
     AND s.expires_at <= clock_timestamp();
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER idempotency_record_is_unsealed AFTER DELETE ON idempotency_record
  FOR EACH ROW WHEN (OLD.state = 'completed') EXECUTE FUNCTION idempotency_record_is_unsealed();
