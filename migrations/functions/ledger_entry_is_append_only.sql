-- Refuses every change of a ledger entry.
CREATE OR REPLACE FUNCTION ledger_entry_is_append_only() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'check_violation';
END
$$;

CREATE OR REPLACE TRIGGER ledger_entry_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_is_append_only();
