-- Refuses balances above 2^53 - 1 micro-units, also from statements that bypass `money_post`. A trigger and not a constraint,
-- because an account that is already above the limit must still be able to spend.
CREATE OR REPLACE FUNCTION organization_account_stays_exact() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'the balance of % would be too large', NEW.organization_id USING ERRCODE = 'check_violation';
END
$$;

CREATE OR REPLACE TRIGGER organization_account_stays_exact BEFORE UPDATE OF balance_micro ON organization_account
  FOR EACH ROW WHEN (NEW.balance_micro > OLD.balance_micro AND NEW.balance_micro > 9007199254740991)
  EXECUTE FUNCTION organization_account_stays_exact();
