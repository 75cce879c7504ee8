import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** One row that tells apart the deployments that share a Redis. */
export class DeploymentIdentity1797110000000 implements Migration {
  readonly name = 'DeploymentIdentity1797110000000';
  readonly routines = 'e368741b51c3efbc';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE deployment_identity (
        is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
        id uuid NOT NULL DEFAULT gen_random_uuid(),
        renewed_at timestamptz NOT NULL DEFAULT clock_timestamp()
      )`);
    await runner.query('INSERT INTO deployment_identity DEFAULT VALUES');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
