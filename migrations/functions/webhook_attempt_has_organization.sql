-- Processes of the previous release insert attempts without their organization.
CREATE OR REPLACE FUNCTION webhook_attempt_has_organization() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  SELECT w.organization_id INTO NEW.organization_id FROM webhook_delivery w WHERE w.id = NEW.delivery_id;
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER webhook_attempt_has_organization BEFORE INSERT ON webhook_attempt
  FOR EACH ROW WHEN (NEW.organization_id IS NULL) EXECUTE FUNCTION webhook_attempt_has_organization();
