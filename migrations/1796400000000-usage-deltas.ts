import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Deltas of usage get an id, so that several processes fold them at the same time, and `money_finish` writes them instead of a
 * trigger.
 *
 * Calls of the previous release that run meanwhile cannot corrupt the totals: the lock keeps its folding out, and
 * `usage_record_is_counted` makes its `money_finish` start again. Tables are locked in the order of the money functions.
 */
export class UsageDeltas1796400000000 implements Migration {
  readonly name = 'UsageDeltas1796400000000';
  readonly routines = 'f4b81ad08da6aaf1';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`SELECT pg_advisory_xact_lock(hashtext('usage_roll'))`);
    await runner.query('DROP TRIGGER IF EXISTS usage_record_is_counted ON usage_record');
    await runner.query(`
      ALTER TABLE usage_delta ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
        ADD CONSTRAINT usage_delta_pkey PRIMARY KEY (organization_id, hour, id)`);
    await runner.query('DROP INDEX usage_delta_organization_index');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
