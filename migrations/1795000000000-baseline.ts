import type { QueryRunner } from 'typeorm';
import { type Migration, readSql } from '../src/core/database/migration-files';

/** In the order of their foreign keys. */
const TABLES = [
  'organizations',
  'users',
  'models',
  'ledger',
  'usage',
  'idempotency',
  'media-jobs',
  'webhooks',
  'payments',
];

/** The schema of the first release: `baseline/*.sql` holds its tables and indexes. */
export class Baseline1795000000000 implements Migration {
  readonly name = 'Baseline1795000000000';
  readonly routines = '16b934c281c6960d';

  async up(runner: QueryRunner): Promise<void> {
    for (const file of TABLES) {
      await runner.query(readSql(`baseline/${file}.sql`));
    }
  }

  async down(): Promise<void> {
    throw new Error('The baseline cannot be reverted. Restore a backup instead.');
  }
}
