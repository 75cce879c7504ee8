-- Prices are a history: rows are only added.
CREATE OR REPLACE FUNCTION price_version_refuse_change() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'price_version is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE OR REPLACE TRIGGER price_version_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_version
  FOR EACH STATEMENT EXECUTE FUNCTION price_version_refuse_change();
