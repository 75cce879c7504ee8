import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** The number of keys that an organization may have, set by operators. */
export class KeyLimit1795600000000 implements Migration {
  readonly name = 'KeyLimit1795600000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE organization ADD COLUMN max_api_keys integer NOT NULL DEFAULT 100');
    await runner.query(`
      ALTER TABLE organization
        ADD CONSTRAINT organization_max_api_keys_check CHECK (max_api_keys BETWEEN 0 AND 10000)`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
