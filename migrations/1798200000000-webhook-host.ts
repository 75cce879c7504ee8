import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * A job keeps the host of its webhook as the gateway connects to it: in SQL, spellings of one host are different hosts.
 * `media_job_submit` gets a parameter, so `CREATE OR REPLACE` would leave the old function beside the new one. Jobs
 * from before, and those that the previous release still accepts, have NULL.
 */
export class WebhookHost1798200000000 implements Migration {
  readonly name = 'WebhookHost1798200000000';
  readonly routines = 'ede1a51b86033a0c';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE media_job ADD COLUMN webhook_host text;
      DROP FUNCTION IF EXISTS
        media_job_submit(uuid, uuid, uuid, text, text, bigint, bigint, json, json, text[], text, json, integer, text, text,
                         text, jsonb, text, text, timestamptz, text)`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Change the function in another one instead.');
  }
}
