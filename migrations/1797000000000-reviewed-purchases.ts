import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Purchases that a person has reviewed leave the list of those to review, until the payment changes again. */
export class ReviewedPurchases1797000000000 implements Migration {
  readonly name = 'ReviewedPurchases1797000000000';
  readonly routines = '6ea2880d811e0c1e';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE purchase ADD COLUMN reviewed_at timestamptz');
    await runner.query('DROP INDEX purchase_review_index');
    await runner.query(`
      CREATE INDEX purchase_review_index ON purchase (created_at, id)
       WHERE reviewed_at IS NULL
         AND (state = 'mismatch' OR (state = 'paid' AND failure IS NOT NULL) OR owed_micro > 0)`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
