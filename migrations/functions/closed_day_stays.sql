-- Refuses reservations of a closed day and of days whose partitions may be gone, and changes of what its closing has recorded.
-- Inserts run it only for ids from more than two days before the row's own time, which the database's clock sets: of such days
-- only holds of jobs and the ids of a process with a wrong clock are left. It waits while their day is being closed.
CREATE OR REPLACE FUNCTION closed_day_stays() RETURNS trigger LANGUAGE plpgsql
AS $$
DECLARE
  v_day date;
BEGIN
  IF TG_LEVEL = 'STATEMENT' THEN
    RAISE EXCEPTION 'closings are append-only' USING ERRCODE = 'check_violation';
  END IF;
  v_day := day_of_id(NEW.id);
  PERFORM pg_advisory_xact_lock_shared(hashtext('ledger_close'), v_day - DATE '2000-01-01');
  PERFORM pg_advisory_xact_lock_shared(hashtext('ledger_archive'));
  IF EXISTS (SELECT FROM ledger_day d WHERE d.day = v_day AND d.closed_at IS NOT NULL) OR v_day < ledger_kept_from() THEN
    RAISE EXCEPTION '% is closed', v_day USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER hold_closed_day_stays BEFORE INSERT ON hold
  FOR EACH ROW
  WHEN (uuid_send(NEW.id) < int8send((date_part('epoch', NEW.created_at) * 1000)::bigint * 65536 - 11324620800000::bigint))
  EXECUTE FUNCTION closed_day_stays();
CREATE OR REPLACE TRIGGER ended_reservation_closed_day_stays BEFORE INSERT ON ended_reservation
  FOR EACH ROW
  WHEN (uuid_send(NEW.id) < int8send((date_part('epoch', NEW.ended_at) * 1000)::bigint * 65536 - 11324620800000::bigint))
  EXECUTE FUNCTION closed_day_stays();

CREATE OR REPLACE TRIGGER ledger_day_stays BEFORE DELETE OR TRUNCATE ON ledger_day
  FOR EACH STATEMENT EXECUTE FUNCTION closed_day_stays();
CREATE OR REPLACE TRIGGER ledger_closing_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_closing
  FOR EACH STATEMENT EXECUTE FUNCTION closed_day_stays();
CREATE OR REPLACE TRIGGER ledger_closing_window_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_closing_window
  FOR EACH STATEMENT EXECUTE FUNCTION closed_day_stays();
