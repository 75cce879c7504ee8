-- Refuses a second end of a job, changes of what was submitted, and the deletion of a job that has not ended: a mistake in the
-- functions is a failed transaction and not a job with two final states.
CREATE OR REPLACE FUNCTION media_job_ends_once() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'job % has not ended', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.completed_at IS NOT NULL
     AND (NEW.status, NEW.cost_micro, NEW.error_code, NEW.error_message, NEW.completed_at)
         IS DISTINCT FROM (OLD.status, OLD.cost_micro, OLD.error_code, OLD.error_message, OLD.completed_at) THEN
    RAISE EXCEPTION 'job % has ended (%)', OLD.id, OLD.status USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.id, NEW.organization_id, NEW.key_id, NEW.kind, NEW.model, NEW.estimated_cost_micro, NEW.max_cost_micro,
      NEW.webhook_url, NEW.created_at, NEW.expires_at)
     IS DISTINCT FROM
     (OLD.id, OLD.organization_id, OLD.key_id, OLD.kind, OLD.model, OLD.estimated_cost_micro, OLD.max_cost_micro,
      OLD.webhook_url, OLD.created_at, OLD.expires_at) THEN
    RAISE EXCEPTION 'job % cannot become another job', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER media_job_ends_once BEFORE UPDATE ON media_job
  FOR EACH ROW EXECUTE FUNCTION media_job_ends_once();
CREATE OR REPLACE TRIGGER media_job_under_way_stays BEFORE DELETE ON media_job
  FOR EACH ROW WHEN (OLD.completed_at IS NULL) EXECUTE FUNCTION media_job_ends_once();
