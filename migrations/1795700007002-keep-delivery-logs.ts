import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhook deliveries outlive their jobs: they have a retention of their own. */
export class KeepDeliveryLogs1795700007002 implements MigrationInterface {
  readonly name = 'KeepDeliveryLogs1795700007002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_delivery DROP CONSTRAINT webhook_delivery_job_id_fkey');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM webhook_delivery w
       WHERE w.job_id IS NOT NULL AND NOT EXISTS (SELECT FROM media_job j WHERE j.id = w.job_id);
      ALTER TABLE webhook_delivery ADD CONSTRAINT webhook_delivery_job_id_fkey
        FOREIGN KEY (job_id) REFERENCES media_job (id) ON DELETE CASCADE;
    `);
  }
}
