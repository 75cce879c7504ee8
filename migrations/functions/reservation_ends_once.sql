-- Refuses a second end of a reservation, changes of its amount or owner, and the deletion of a hold.
CREATE OR REPLACE FUNCTION reservation_ends_once() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  IF OLD.state <> 'held' AND TG_OP = 'UPDATE' THEN
    RAISE EXCEPTION 'reservation % has ended (%)', OLD.id, OLD.state USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'reservation % is held', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.id, NEW.organization_id, NEW.key_id, NEW.amount_micro, NEW.day, NEW.month, NEW.owner, NEW.created_at)
     IS DISTINCT FROM
     (OLD.id, OLD.organization_id, OLD.key_id, OLD.amount_micro, OLD.day, OLD.month, OLD.owner, OLD.created_at) THEN
    RAISE EXCEPTION 'reservation % is immutable but for its end', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER reservation_ends_once BEFORE UPDATE ON reservation
  FOR EACH ROW EXECUTE FUNCTION reservation_ends_once();
CREATE OR REPLACE TRIGGER reservation_held_stays BEFORE DELETE ON reservation
  FOR EACH ROW WHEN (OLD.state = 'held') EXECUTE FUNCTION reservation_ends_once();
