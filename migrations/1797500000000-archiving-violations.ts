import type { Migration } from '../src/core/database/migration-files';

/** Functions only: a day is compared with its receipts before it is archived. */
export class ArchivingViolations1797500000000 implements Migration {
  readonly name = 'ArchivingViolations1797500000000';
  readonly routines = 'c517499c0c274ec5';

  async up(): Promise<void> {
    // The functions are applied after it.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
