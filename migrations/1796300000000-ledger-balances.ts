import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Each entry keeps the balance that it left; older ones have none, because the ledger is append-only. */
export class LedgerBalances1796300000000 implements Migration {
  readonly name = 'LedgerBalances1796300000000';
  readonly routines = '800d6232857fa0d8';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE ledger_entry ADD COLUMN balance_after_micro bigint');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
