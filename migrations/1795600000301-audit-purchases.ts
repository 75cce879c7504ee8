import type { MigrationInterface, QueryRunner } from 'typeorm';
import { VIOLATIONS } from './1795500000003-audit-media-jobs';

/** `money_violations` also sees purchases that do not fit the ledger. */
export class AuditPurchases1795600000301 implements MigrationInterface {
  readonly name = 'AuditPurchases1795600000301';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW money_violations AS ${VIOLATIONS} UNION ALL ${PURCHASES}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW money_violations AS ${VIOLATIONS}`);
  }
}

/** References of payments begin with their provider, and those of what was paid back with the payment. */
export const PURCHASES = `
  SELECT 'I13 a paid purchase is one top-up of its amount, and the other way round',
         COALESCE(p.id::text, l.organization_id || ' ' || l.reference),
         (COALESCE(p.amount_micro, 0) - COALESCE(l.amount_micro, 0))::numeric
    FROM (SELECT id, organization_id, provider || ':' || payment_reference AS reference, amount_micro
            FROM purchase WHERE state = 'paid') p
    FULL JOIN (SELECT organization_id, external_reference AS reference, amount_micro
                 FROM ledger_entry WHERE kind = 'topup' AND external_reference ~ '^(stripe|test):') l
         USING (organization_id, reference)
   WHERE p.id IS NULL OR p.amount_micro IS DISTINCT FROM l.amount_micro
  UNION ALL
  SELECT 'I14 what was paid back of a purchase is booked or owed', COALESCE(p.id::text, l.organization_id || ' ' || l.reference),
         (COALESCE(p.taken_micro, 0) + COALESCE(l.delta_micro, 0))::numeric
    FROM (SELECT id, organization_id, provider || ':' || payment_reference AS reference,
                 LEAST(amount_micro, refunded_micro + disputed_micro) - owed_micro AS taken_micro
            FROM purchase WHERE state = 'paid') p
    FULL JOIN (SELECT organization_id, substring(external_reference FROM '^[^:]+:[^:]+') AS reference,
                      sum(organization_delta_micro) AS delta_micro
                 FROM ledger_entry
                WHERE kind IN ('refund', 'adjust') AND external_reference ~ '^(stripe|test):[^:]+:' GROUP BY 1, 2) l
         USING (organization_id, reference)
   WHERE COALESCE(p.taken_micro, 0) <> -COALESCE(l.delta_micro, 0)`;
