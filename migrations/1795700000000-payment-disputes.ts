import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Disputes by their id: a payment can have several. Known ones have the payment's id until an event names theirs, as none
 * was stored.
 */
export class PaymentDisputes1795700000000 implements Migration {
  readonly name = 'PaymentDisputes1795700000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE payment_dispute (
        provider text NOT NULL,
        id text NOT NULL,
        payment_reference text NOT NULL,
        withheld_micro bigint NOT NULL,
        reported_at timestamptz NOT NULL,
        CONSTRAINT payment_dispute_pkey PRIMARY KEY (provider, id),
        CONSTRAINT payment_dispute_amount_check CHECK (withheld_micro >= 0)
      )`);
    await runner.query('CREATE INDEX payment_dispute_payment_index ON payment_dispute (provider, payment_reference)');
    await runner.query(`
      INSERT INTO payment_dispute (provider, id, payment_reference, withheld_micro, reported_at)
      SELECT provider, payment_reference, payment_reference, disputed_micro, dispute_seen_at
        FROM purchase WHERE dispute_seen_at IS NOT NULL AND payment_reference IS NOT NULL
      ON CONFLICT DO NOTHING`);
    await runner.query(`
      INSERT INTO payment_dispute (provider, id, payment_reference, withheld_micro, reported_at)
      SELECT provider, payment_reference, payment_reference, disputed_micro, reported_at FROM early_dispute
      ON CONFLICT DO NOTHING`);
    await runner.query('DROP TABLE early_dispute');
    await runner.query('ALTER TABLE purchase DROP COLUMN dispute_seen_at');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
