-- Every entry of the ledger: the postings, and the ended reservations with a charge. `created_at` and `id` are in the order of the
-- booking. `key_id` and `is_job` are those of a charge.
--
-- The condition stands outside the union: within it, it would keep PostgreSQL from reading the indexes of both in order.
CREATE OR REPLACE VIEW ledger_entry AS
SELECT *
  FROM (SELECT id, organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro,
               NULL::uuid AS reservation_id, external_reference, created_at, balance_after_micro, NULL::uuid AS key_id,
               NULL::boolean AS is_job
          FROM ledger_posting
        UNION ALL
        SELECT entry_id, organization_id, 'charge', 'organization', 'revenue', charged_micro, -charged_micro, id, NULL, ended_at,
               balance_after_micro, key_id, is_job
          FROM ended_reservation) entry
 WHERE id IS NOT NULL;
