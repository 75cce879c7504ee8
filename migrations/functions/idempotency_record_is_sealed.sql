-- Adds the seal of a completed record, which `record_violations` compares with the record.
CREATE OR REPLACE FUNCTION idempotency_record_is_sealed() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  INSERT INTO idempotency_seal (organization_id, reservation_id, expires_at, digest)
  VALUES (NEW.organization_id, NEW.reservation_id, NEW.expires_at, idempotency_record_digest(NEW));
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER idempotency_record_starts_sealed AFTER INSERT ON idempotency_record
  FOR EACH ROW WHEN (NEW.state = 'completed') EXECUTE FUNCTION idempotency_record_is_sealed();
CREATE OR REPLACE TRIGGER idempotency_record_completes_sealed AFTER UPDATE ON idempotency_record
  FOR EACH ROW WHEN (OLD.state = 'in_progress' AND NEW.state = 'completed')
  EXECUTE FUNCTION idempotency_record_is_sealed();
