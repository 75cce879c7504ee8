import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A purchase can be canceled before it is paid. Going back, canceled purchases become expired ones. */
export class CancelPurchases1795700008020 implements MigrationInterface {
  readonly name = 'CancelPurchases1795700008020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(stateCheck(`'failed', 'expired', 'canceled', 'mismatch'`));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`UPDATE purchase SET state = 'expired' WHERE state = 'canceled'`);
    await runner.query(stateCheck(`'failed', 'expired', 'mismatch'`));
  }
}

function stateCheck(unpaid: string): string {
  return `
    ALTER TABLE purchase DROP CONSTRAINT purchase_state_check, ADD CONSTRAINT purchase_state_check CHECK (
      (state IN ('pending', 'processing') AND ended_at IS NULL)
      OR (state = 'paid' AND ended_at IS NOT NULL AND payment_reference IS NOT NULL)
      OR (state IN (${unpaid}) AND ended_at IS NOT NULL AND payment_reference IS NULL)
    )`;
}
