import type { Migration } from '../src/core/database/migration-files';

/** Applies `ledger_oldest_open_day`. */
export class OldestOpenDay1798700000000 implements Migration {
  readonly name = 'OldestOpenDay1798700000000';
  readonly routines = '226602cbe012e60f';

  async up(): Promise<void> {
    // Functions are applied after every migration.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Change the function in another one instead.');
  }
}
