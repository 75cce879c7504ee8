import type { Migration } from '../src/core/database/migration-files';

/** Closings lock the day that they close. */
export class LedgerDayLock1797100000000 implements Migration {
  readonly name = 'LedgerDayLock1797100000000';
  readonly routines = 'e368741b51c3efbc';

  async up(): Promise<void> {
    // The functions are replaced after the migrations.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
