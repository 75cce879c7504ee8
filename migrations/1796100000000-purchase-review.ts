import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Lists the purchases of all organizations, and finds the few that a person has to review. */
export class PurchaseReview1796100000000 implements Migration {
  readonly name = 'PurchaseReview1796100000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX purchase_time_index ON purchase (created_at, id)');
    await runner.query(`
      CREATE INDEX purchase_review_index ON purchase (created_at, id)
       WHERE state = 'mismatch' OR (state = 'paid' AND failure IS NOT NULL) OR owed_micro > 0`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
