-- Refuses every change of a posting, an ended reservation or a hold. A hold is deleted by `money_finish`, and only there.
CREATE OR REPLACE FUNCTION money_is_append_only() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END
$$;

CREATE OR REPLACE TRIGGER ledger_posting_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_posting
  FOR EACH STATEMENT EXECUTE FUNCTION money_is_append_only();

-- For each row, so that it also applies to statements on a partition.
CREATE OR REPLACE TRIGGER ended_reservation_is_append_only BEFORE UPDATE OR DELETE ON ended_reservation
  FOR EACH ROW EXECUTE FUNCTION money_is_append_only();
CREATE OR REPLACE TRIGGER ended_reservation_is_kept BEFORE TRUNCATE ON ended_reservation
  FOR EACH STATEMENT EXECUTE FUNCTION money_is_append_only();

CREATE OR REPLACE TRIGGER hold_is_immutable BEFORE UPDATE OR TRUNCATE ON hold
  FOR EACH STATEMENT EXECUTE FUNCTION money_is_append_only();
CREATE OR REPLACE TRIGGER hold_is_ended_by_money_finish BEFORE DELETE ON hold
  FOR EACH STATEMENT WHEN (current_setting('gateway.ends_holds', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION money_is_append_only();
