import type { Migration } from '../src/core/database/migration-files';

/** Applies `money_finish`, which looks up the receipts of repeated calls in the partitions of their days only. */
export class ReceiptsByDay1798500000000 implements Migration {
  readonly name = 'ReceiptsByDay1798500000000';
  readonly routines = 'ca233fd29a860fdb';

  async up(): Promise<void> {
    // Functions are applied after every migration.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Change the function in another one instead.');
  }
}
