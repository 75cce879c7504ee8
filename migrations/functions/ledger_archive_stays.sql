-- Refuses every change of an archived day, except the note that its rows are gone. A claim may change.
CREATE OR REPLACE FUNCTION ledger_archive_stays() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.exported_at IS NULL
       OR (OLD.removed_at IS NULL AND to_jsonb(NEW) - 'removed_at' = to_jsonb(OLD) - 'removed_at') THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'archived days are append-only' USING ERRCODE = 'check_violation';
END
$$;

CREATE OR REPLACE TRIGGER ledger_archive_stays BEFORE UPDATE OR DELETE ON ledger_archive
  FOR EACH ROW EXECUTE FUNCTION ledger_archive_stays();
CREATE OR REPLACE TRIGGER ledger_archive_is_kept BEFORE TRUNCATE ON ledger_archive
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_archive_stays();
