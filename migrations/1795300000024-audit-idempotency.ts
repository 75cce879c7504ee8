import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `money_violations` also sees idempotency records that do not fit their reservations. What it saw before is
 * `ledger_violations` from now on.
 */
export class AuditIdempotency1795300000024 implements MigrationInterface {
  readonly name = 'AuditIdempotency1795300000024';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER VIEW money_violations RENAME TO ledger_violations');
    await runner.query(`CREATE VIEW money_violations AS
      SELECT * FROM ledger_violations UNION ALL ${IN_PROGRESS} UNION ALL ${COMPLETED}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW money_violations');
    await runner.query('ALTER VIEW ledger_violations RENAME TO money_violations');
  }
}

/** Both ways: a record that nobody would ever end, and a hold whose key could be claimed a second time. */
export const IN_PROGRESS = `
  SELECT 'I11 a key is in progress exactly while its reservation is held',
         COALESCE(d.reservation_id, r.id)::text, COALESCE(r.amount_micro, 0)::numeric
    FROM (SELECT * FROM idempotency_record WHERE state = 'in_progress') d
    FULL JOIN (SELECT * FROM reservation WHERE state = 'held' AND keyed) r
         ON r.id = d.reservation_id AND r.organization_id = d.organization_id
   WHERE d.reservation_id IS NULL OR r.id IS NULL`;

const COMPLETED = `
  SELECT 'I12 a completed key tells the charge of its reservation', d.reservation_id::text,
         (d.charged_micro - COALESCE(r.charged_micro, 0))::numeric
    FROM idempotency_record d
    LEFT JOIN reservation r ON r.id = d.reservation_id AND r.organization_id = d.organization_id AND r.state <> 'held'
   WHERE d.state = 'completed' AND (r.id IS NULL OR d.charged_micro <> COALESCE(r.charged_micro, 0))`;
