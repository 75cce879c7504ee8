import type { MigrationInterface, QueryRunner } from 'typeorm';
import { VIOLATIONS } from './1795500000003-audit-media-jobs';
import { PURCHASES } from './1795600000301-audit-purchases';

/** Refunds one by one, since one that was taken back may fail; and `money_violations` that sees what does not fit them. */
export class FollowRefunds1795600001300 implements MigrationInterface {
  readonly name = 'FollowRefunds1795600001300';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE payment_refund (
        provider text NOT NULL,
        id text NOT NULL,
        payment_reference text NOT NULL,
        amount_micro bigint NOT NULL,
        has_failed boolean NOT NULL,
        CONSTRAINT payment_refund_pkey PRIMARY KEY (provider, id),
        CONSTRAINT payment_refund_amount_check CHECK (amount_micro >= 0)
      );
      CREATE INDEX payment_refund_payment_index ON payment_refund (provider, payment_reference);
      ALTER TABLE purchase ADD COLUMN highest_refunded_micro bigint NOT NULL DEFAULT 0;
      UPDATE purchase SET highest_refunded_micro = refunded_micro WHERE refunded_micro > 0;
    `);
    await runner.query(
      `CREATE OR REPLACE VIEW money_violations AS ${VIOLATIONS} UNION ALL ${PURCHASES} UNION ALL ${REFUNDS}`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW money_violations AS ${VIOLATIONS} UNION ALL ${PURCHASES}`);
    await runner.query('ALTER TABLE purchase DROP COLUMN highest_refunded_micro; DROP TABLE payment_refund');
  }
}

/** With I14: a refund that has failed is neither booked nor owed. */
export const REFUNDS = `
  SELECT 'I15 what was paid back of a purchase is what its refunds say', p.id::text, (p.refunded_micro - r.refunded_micro)::numeric
    FROM purchase p
    CROSS JOIN LATERAL (
      SELECT GREATEST(COALESCE(sum(amount_micro) FILTER (WHERE NOT has_failed), 0),
                      p.highest_refunded_micro - COALESCE(sum(amount_micro) FILTER (WHERE has_failed), 0)) AS refunded_micro
        FROM payment_refund WHERE provider = p.provider AND payment_reference = p.payment_reference) r
   WHERE p.state = 'paid' AND p.refunded_micro <> r.refunded_micro`;
