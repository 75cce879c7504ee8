-- Writes the digest of a stored body.
CREATE OR REPLACE FUNCTION idempotency_body_is_sealed() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  NEW.digest := idempotency_body_digest(NEW.reservation_id, NEW.organization_id, NEW.head, NEW.tail);
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER idempotency_body_is_sealed BEFORE INSERT ON idempotency_body
  FOR EACH ROW EXECUTE FUNCTION idempotency_body_is_sealed();
