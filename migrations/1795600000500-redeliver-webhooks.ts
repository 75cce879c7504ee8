import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the dashboard needs of jobs and webhooks: secrets that are told once, deliveries that are sent again in another
 * round of attempts, test events, which belong to no job, and lists by organization.
 */
export class RedeliverWebhooks1795600000500 implements MigrationInterface {
  readonly name = 'RedeliverWebhooks1795600000500';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization_webhook_secret ADD COLUMN revealed_at timestamptz;
      ALTER TABLE webhook_delivery
        ALTER COLUMN job_id DROP NOT NULL,
        ADD COLUMN prior_attempts smallint NOT NULL DEFAULT 0,
        DROP CONSTRAINT webhook_delivery_event_check,
        ADD CONSTRAINT webhook_delivery_event_check CHECK (
          (event IN ('job.completed', 'job.failed') AND job_id IS NOT NULL) OR (event = 'webhook.test' AND job_id IS NULL)),
        ADD CONSTRAINT webhook_delivery_round_check CHECK (prior_attempts BETWEEN 0 AND attempt);
      CREATE INDEX webhook_delivery_organization_index ON webhook_delivery (organization_id, created_at, id);
      CREATE INDEX media_job_organization_index ON media_job (organization_id, created_at, id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX media_job_organization_index, webhook_delivery_organization_index;
      DELETE FROM webhook_delivery WHERE job_id IS NULL;
      ALTER TABLE webhook_delivery
        DROP CONSTRAINT webhook_delivery_round_check,
        DROP CONSTRAINT webhook_delivery_event_check,
        ADD CONSTRAINT webhook_delivery_event_check CHECK (event IN ('job.completed', 'job.failed')),
        DROP COLUMN prior_attempts,
        ALTER COLUMN job_id SET NOT NULL;
      ALTER TABLE organization_webhook_secret DROP COLUMN revealed_at;
    `);
  }
}
