import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** The trace of the request that submitted a job, so that the work on it can refer to it. */
export class JobTraces1797120000000 implements Migration {
  readonly name = 'JobTraces1797120000000';
  readonly routines = '960648747d660b40';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_job ADD COLUMN trace_parent text');
    // It gets another parameter.
    await runner.query(`
      DROP FUNCTION IF EXISTS media_job_submit(uuid, uuid, uuid, text, text, bigint, bigint, json, json, text[], text, json,
        integer, text, text, text, jsonb, text, text, timestamptz)`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
