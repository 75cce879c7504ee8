import type { Migration } from '../src/core/database/migration-files';

/** Applies `money_finish`, which the owner of the database may create without being a superuser. */
export class SettingsInMoneyFinish1798400000000 implements Migration {
  readonly name = 'SettingsInMoneyFinish1798400000000';
  readonly routines = '9a2b9e59407373c2';

  async up(): Promise<void> {
    // Functions are applied after every migration.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Change the function in another one instead.');
  }
}
