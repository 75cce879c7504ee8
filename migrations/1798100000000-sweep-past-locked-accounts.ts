import type { Migration } from '../src/core/database/migration-files';

/** Applies `money_sweep`, which no longer waits for locked accounts. */
export class SweepPastLockedAccounts1798100000000 implements Migration {
  readonly name = 'SweepPastLockedAccounts1798100000000';
  readonly routines = '4887b3894312680c';

  async up(): Promise<void> {
    // Functions are applied after every migration.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Change the function in another one instead.');
  }
}
