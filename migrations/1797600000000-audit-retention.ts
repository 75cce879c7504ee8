import type { Migration } from '../src/core/database/migration-files';

/** Functions only: audit entries can be removed after 90 days. */
export class AuditRetention1797600000000 implements Migration {
  readonly name = 'AuditRetention1797600000000';
  readonly routines = 'a1ec39cc5a600166';

  async up(): Promise<void> {
    // The functions are applied after it.
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
