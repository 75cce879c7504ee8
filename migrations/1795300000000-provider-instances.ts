import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Named provider instances that operators have stored. `sealed`: module, base URL and keys, encrypted together. */
export class ProviderInstances1795300000000 implements Migration {
  readonly name = 'ProviderInstances1795300000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE provider_instance (
        id text NOT NULL,
        sealed text NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT provider_instance_pkey PRIMARY KEY (id)
      )`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
