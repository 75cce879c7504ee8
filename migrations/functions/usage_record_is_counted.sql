-- Refuses receipts that no total counts: `money_finish` writes and counts them in one statement, and says so with a setting.
-- During an upgrade, calls that still run its previous text are repeated by their gateway.
CREATE OR REPLACE FUNCTION usage_record_is_counted() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'only money_finish writes receipts' USING ERRCODE = 'serialization_failure';
END
$$;

CREATE OR REPLACE TRIGGER usage_record_is_counted BEFORE INSERT ON usage_record FOR EACH STATEMENT
  WHEN (current_setting('gateway.counts_receipts', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION usage_record_is_counted();
