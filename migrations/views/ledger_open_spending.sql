-- What the holds, and the ended reservations of open days, add to the windows and to the sums of the ledger.
CREATE OR REPLACE VIEW ledger_open_spending AS
SELECT s.organization_id, s.key_id, s.day, s.month, 0::bigint AS held_micro, s.spent_micro, s.broken_count
  FROM ledger_open_range o, LATERAL ledger_sums(o.low, o.high) s
UNION ALL
SELECT organization_id, key_id, (created_at AT TIME ZONE 'UTC')::date,
       date_trunc('month', created_at AT TIME ZONE 'UTC')::date, amount_micro, 0, 0
  FROM hold;
