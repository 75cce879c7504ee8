import type { Migration } from '../src/core/database/migration-files';

/** Follows the balances of a day's entries in one pass. */
export class LedgerDayChecks1796800000000 implements Migration {
  readonly name = 'LedgerDayChecks1796800000000';
  readonly routines = '6ea2880d811e0c1e';

  async up(): Promise<void> {
    // The functions are replaced after the migrations.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
