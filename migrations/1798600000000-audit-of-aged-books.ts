import type { Migration } from '../src/core/database/migration-files';

/** Applies `balance_violations` and `money_violations`, which read entries in the partitions of their days only. */
export class AuditOfAgedBooks1798600000000 implements Migration {
  readonly name = 'AuditOfAgedBooks1798600000000';
  readonly routines = 'fce41110436954e9';

  async up(): Promise<void> {
    // Functions and views are applied after every migration.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Change the function in another one instead.');
  }
}
