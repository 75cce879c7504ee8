-- Writes the digest of a receipt.
CREATE OR REPLACE FUNCTION usage_record_is_sealed() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  NEW.digest := usage_record_digest(NEW);
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER usage_record_is_sealed BEFORE INSERT ON usage_record
  FOR EACH ROW EXECUTE FUNCTION usage_record_is_sealed();
