import type { QueryRunner } from 'typeorm';
import { type Migration, OldDatabaseError, readSql } from '../src/core/database/migration-files';

/** In the order of their foreign keys; partitions come after their tables. */
const TABLES = [
  'organizations',
  'users',
  'models',
  'ledger',
  'ledger-days',
  'usage',
  'partitions',
  'idempotency',
  'media-jobs',
  'webhooks',
  'payments',
  'processes',
];

/** The newest migration that this one replaces and that changed tables. */
const NEWEST_REPLACED = 'TaskLeases1797510000000';

/**
 * The schema of the first release: `baseline/*.sql` holds its tables and indexes. It replaces the migrations before it,
 * so a database that has all of them has these tables already.
 */
export class Baseline1797700000000 implements Migration {
  readonly name = 'Baseline1797700000000';
  readonly routines = 'a1ec39cc5a600166';

  async up(runner: QueryRunner): Promise<void> {
    const rows: { name: string }[] = await runner.query('SELECT name FROM migrations');
    const applied = rows.map(({ name }) => name);
    this.requirePredecessors(applied);
    if (applied.length > 0) return;
    for (const file of TABLES) {
      await runner.query(readSql(`baseline/${file}.sql`));
    }
  }

  requirePredecessors(applied: readonly string[]): void {
    if (applied.length === 0 || applied.includes(NEWEST_REPLACED)) return;
    throw new OldDatabaseError(
      `The database lacks ${NEWEST_REPLACED}, which this version no longer contains. Migrate it with an earlier version first.`,
    );
  }

  async down(): Promise<void> {
    throw new Error('The baseline cannot be reverted. Restore a backup instead.');
  }
}
