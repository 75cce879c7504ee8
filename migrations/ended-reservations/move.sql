-- Moves the rows of the old tables. A charge that does not match its reservation has no place in the new ones: `gateway ledger
-- verify` of the previous release names it.
LOCK TABLE reservation, ledger_entry IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM (SELECT * FROM ledger_entry WHERE kind = 'charge') l FULL JOIN reservation r ON r.id = l.reservation_id
              WHERE COALESCE(r.charged_micro, 0) <> COALESCE(l.amount_micro, 0) OR r.organization_id <> l.organization_id) THEN
    RAISE EXCEPTION 'a charge differs from its reservation: repair what gateway ledger verify reports (I4, I5), then upgrade';
  END IF;
END
$$;

-- Partitions of the last 400 days with reservations and of the coming days, named after their day. `..._past` takes the ids of
-- older days, and the last one those of later days (src/core/partitions/README.md).
DO $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_day date;
  v_name text := 'past';
  v_low text := 'MINVALUE';
  v_high text;
BEGIN
  SELECT GREATEST(v_today - 400, LEAST(v_today, min((created_at AT TIME ZONE 'UTC')::date - 1))) INTO v_day FROM reservation;
  LOOP
    v_high := CASE WHEN v_day > v_today + 8 THEN 'MAXVALUE'
                   ELSE quote_literal(lpad(to_hex((v_day - DATE '1970-01-01') * 86400000::bigint), 12, '0') || repeat('0', 20)) END;
    EXECUTE format('CREATE TABLE %I PARTITION OF ended_reservation FOR VALUES FROM (%s) TO (%s)',
                   'ended_reservation_' || v_name, v_low, v_high);
    EXIT WHEN v_high = 'MAXVALUE';
    v_low := v_high;
    v_name := to_char(v_day, 'YYYYMMDD');
    v_day := v_day + 1;
  END LOOP;
END
$$;

INSERT INTO hold (amount_micro, created_at, expires_at, organization_id, id, key_id, keyed, owner)
  SELECT amount_micro, created_at, expires_at, organization_id, id, key_id, keyed, owner
    FROM reservation WHERE state = 'held';
INSERT INTO ended_reservation (amount_micro, charged_micro, uncollected_micro, entry_id, balance_after_micro, created_at,
                               ended_at, id, organization_id, key_id, is_job, state)
  SELECT r.amount_micro, r.charged_micro, r.uncollected_micro, l.id, l.balance_after_micro, r.created_at,
         r.ended_at, r.id, r.organization_id, r.key_id, r.owner = 'media_job', r.state
    FROM reservation r LEFT JOIN ledger_entry l ON l.kind = 'charge' AND l.reservation_id = r.id
   WHERE r.state <> 'held';
INSERT INTO ledger_posting (id, organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro,
                            balance_after_micro, external_reference, created_at)
  SELECT id, organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro,
         balance_after_micro, external_reference, created_at
    FROM ledger_entry WHERE kind <> 'charge';
SELECT setval('ledger_entry_sequence', COALESCE((SELECT max(id) FROM ledger_entry), 0) + 1, false);

DROP TRIGGER IF EXISTS ledger_day_stays ON ledger_day;
DROP TRIGGER IF EXISTS ledger_closing_stays ON ledger_closing;
DROP TRIGGER IF EXISTS ledger_closing_window_stays ON ledger_closing_window;
DELETE FROM ledger_closing_window;
DELETE FROM ledger_closing;
DELETE FROM ledger_day;
