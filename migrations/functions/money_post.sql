-- Books a credit, a refund or a manual adjustment. Idempotent by organization, kind and reference.
--
-- Answers `applied` once and `repeated` afterwards; `conflict` when the reference was used for another amount; `insufficient`
-- when a debit would touch held funds; `too_large` when the balance would exceed 2^53 - 1, the largest integer that every
-- JSON client reads exactly; `unknown_organization`. Sums are numeric because those of bigint could overflow.
CREATE OR REPLACE FUNCTION money_post(p_organization uuid, p_kind text, p_delta bigint, p_reference text)
RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
  v_balance numeric;
  v_reserved numeric;
  v_known_delta bigint;
  v_counterpart text := CASE p_kind WHEN 'adjust' THEN 'adjustment' ELSE 'cash' END;
BEGIN
  SELECT a.balance_micro, a.reserved_micro INTO v_balance, v_reserved
    FROM organization_account a WHERE a.organization_id = p_organization FOR UPDATE;
  IF NOT FOUND THEN RETURN 'unknown_organization'; END IF;

  SELECT l.organization_delta_micro INTO v_known_delta FROM ledger_posting l
   WHERE l.organization_id = p_organization AND l.kind = p_kind AND l.external_reference = p_reference;
  IF FOUND THEN RETURN CASE WHEN v_known_delta = p_delta THEN 'repeated' ELSE 'conflict' END; END IF;
  IF v_balance - v_reserved + p_delta < 0 THEN RETURN 'insufficient'; END IF;
  IF p_delta > 0 AND v_balance + p_delta > 9007199254740991 THEN RETURN 'too_large'; END IF;

  INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro,
                              organization_delta_micro, balance_after_micro, external_reference)
  VALUES (p_organization, p_kind,
          CASE WHEN p_delta > 0 THEN v_counterpart ELSE 'organization' END,
          CASE WHEN p_delta > 0 THEN 'organization' ELSE v_counterpart END,
          abs(p_delta), p_delta, v_balance + p_delta, p_reference);
  UPDATE organization_account a SET balance_micro = a.balance_micro + p_delta
   WHERE a.organization_id = p_organization;
  RETURN 'applied';
END
$$;
