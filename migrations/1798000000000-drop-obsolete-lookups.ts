import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Drops what `OrganizationFirst` kept for processes of the release before it: indexes without the organization, the
 * trigger that added it to webhook attempts, and `media_job_finish` without it. Upgrade to a release with
 * `OrganizationFirst` first if processes from before it must keep running meanwhile.
 */
export class DropObsoleteLookups1798000000000 implements Migration {
  readonly name = 'DropObsoleteLookups1798000000000';
  readonly routines = '35f78f0ffcf0a750';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER IF EXISTS webhook_attempt_has_organization ON webhook_attempt;
      DROP FUNCTION IF EXISTS webhook_attempt_has_organization();
      DROP FUNCTION IF EXISTS
        media_job_finish(uuid, text, text[], integer, integer, bigint, text, text, jsonb, jsonb, timestamptz, uuid);
      DROP INDEX IF EXISTS webhook_delivery_id_index, webhook_delivery_event_index;
      DROP INDEX IF EXISTS media_artifact_job_index;
      DROP INDEX IF EXISTS idempotency_body_reservation_index`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Create the indexes in another one instead.');
  }
}
