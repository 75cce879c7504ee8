import type { Migration } from '../src/core/database/migration-files';

/** The money functions have their lock timeout as a clause: a session needs no setting of its own. */
export class MoneyLockTimeout1796500000000 implements Migration {
  readonly name = 'MoneyLockTimeout1796500000000';
  readonly routines = 'df3808c038fbee8e';

  async up(): Promise<void> {
    // The functions are replaced after the migrations.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
