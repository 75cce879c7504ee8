import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** The view groups by the old primary key; it is created again after the migrations. */
const MEDIA = `
  DROP VIEW IF EXISTS money_violations;
  ALTER TABLE media_artifact DROP CONSTRAINT media_artifact_job_id_fkey;
  ALTER TABLE media_artifact ADD COLUMN organization_id uuid;
  UPDATE media_artifact a SET organization_id = j.organization_id FROM media_job j WHERE j.id = a.job_id;

  CREATE UNIQUE INDEX IF NOT EXISTS media_job_organization_first ON media_job (organization_id, id);
  CREATE INDEX IF NOT EXISTS media_job_id_index ON media_job (id);
  ALTER TABLE media_job
    DROP CONSTRAINT media_job_pkey,
    ADD CONSTRAINT media_job_pkey PRIMARY KEY USING INDEX media_job_organization_first;

  ALTER TABLE media_artifact
    ALTER COLUMN organization_id SET NOT NULL,
    DROP CONSTRAINT media_artifact_pkey,
    ADD CONSTRAINT media_artifact_pkey PRIMARY KEY (organization_id, job_id, position),
    ADD CONSTRAINT media_artifact_job_id_fkey FOREIGN KEY (organization_id, job_id)
      REFERENCES media_job (organization_id, id);`;

const WEBHOOKS = `
  ALTER TABLE webhook_attempt DROP CONSTRAINT webhook_attempt_delivery_id_fkey;
  ALTER TABLE webhook_attempt ADD COLUMN organization_id uuid;
  UPDATE webhook_attempt a SET organization_id = w.organization_id FROM webhook_delivery w WHERE w.id = a.delivery_id;

  CREATE UNIQUE INDEX IF NOT EXISTS webhook_delivery_organization_first ON webhook_delivery (organization_id, id);
  CREATE UNIQUE INDEX IF NOT EXISTS webhook_delivery_job_index ON webhook_delivery (organization_id, job_id, event);
  CREATE INDEX IF NOT EXISTS webhook_delivery_id_index ON webhook_delivery (id);
  ALTER TABLE webhook_delivery
    DROP CONSTRAINT webhook_delivery_pkey,
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY USING INDEX webhook_delivery_organization_first;

  ALTER TABLE webhook_attempt
    ALTER COLUMN organization_id SET NOT NULL,
    DROP CONSTRAINT webhook_attempt_pkey,
    ADD CONSTRAINT webhook_attempt_pkey PRIMARY KEY (organization_id, delivery_id, number),
    ADD CONSTRAINT webhook_attempt_delivery_id_fkey FOREIGN KEY (organization_id, delivery_id)
      REFERENCES webhook_delivery (organization_id, id) ON DELETE CASCADE;`;

/** It gets a parameter, so `CREATE OR REPLACE` would leave the old function beside the new one. */
const CHANGED_FUNCTION = `
  DROP FUNCTION IF EXISTS
    media_job_finish(uuid, text, text[], integer, integer, bigint, text, text, jsonb, jsonb, timestamptz);`;

const IDEMPOTENCY = `
  CREATE UNIQUE INDEX IF NOT EXISTS idempotency_record_organization_first
    ON idempotency_record (organization_id, reservation_id);
  DROP INDEX idempotency_record_reservation_index;
  ALTER INDEX idempotency_record_organization_first RENAME TO idempotency_record_reservation_index;

  ALTER TABLE idempotency_seal ADD COLUMN organization_id uuid;
  UPDATE idempotency_seal s SET organization_id = COALESCE(
    (SELECT d.organization_id FROM idempotency_record d WHERE d.reservation_id = s.reservation_id),
    '00000000-0000-0000-0000-000000000000');
  ALTER TABLE idempotency_seal
    ALTER COLUMN organization_id SET NOT NULL,
    DROP CONSTRAINT idempotency_seal_pkey,
    ADD CONSTRAINT idempotency_seal_pkey PRIMARY KEY (organization_id, reservation_id);

  CREATE UNIQUE INDEX IF NOT EXISTS idempotency_body_organization_first
    ON idempotency_body (organization_id, reservation_id);
  CREATE INDEX IF NOT EXISTS idempotency_body_reservation_index ON idempotency_body (reservation_id);
  ALTER TABLE idempotency_body
    DROP CONSTRAINT idempotency_body_pkey,
    ADD CONSTRAINT idempotency_body_pkey PRIMARY KEY USING INDEX idempotency_body_organization_first;`;

/** Keys are never deleted: a window without one is a finding of the auditor, as is a seal without a record. */
const SPEND_WINDOWS = `
  ALTER TABLE spend_window ADD COLUMN organization_id uuid;
  UPDATE spend_window w SET organization_id = CASE w.scope WHEN 1 THEN w.scope_id ELSE COALESCE(
    (SELECT k.organization_id FROM api_key k WHERE k.id = w.scope_id), '00000000-0000-0000-0000-000000000000') END;
  ALTER TABLE spend_window
    ALTER COLUMN organization_id SET NOT NULL,
    DROP CONSTRAINT spend_window_pkey,
    ADD CONSTRAINT spend_window_pkey PRIMARY KEY (organization_id, scope, scope_id, window_start);`;

/**
 * The organization comes first in every key of money, idempotency, jobs and webhooks, so that rows of one organization
 * are together and can be distributed or moved by it.
 *
 * Where tables are large, create the indexes with `IF NOT EXISTS` by hand before the upgrade, with `CONCURRENTLY`.
 * Those without the organization are for lookups of the release before; `DropObsoleteLookups` drops them.
 */
export class OrganizationFirst1797800000000 implements Migration {
  readonly name = 'OrganizationFirst1797800000000';
  readonly routines = 'bbf353ea3ce063e6';

  async up(runner: QueryRunner): Promise<void> {
    // Requests wait from the first change of a table that they write, so those come last: 4 s for a million windows.
    for (const text of [MEDIA, WEBHOOKS, CHANGED_FUNCTION, IDEMPOTENCY, SPEND_WINDOWS]) {
      await runner.query(text);
    }
  }

  async down(): Promise<void> {
    throw new Error('The keys cannot be reverted. Restore a backup instead.');
  }
}
