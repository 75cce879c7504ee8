import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Counts the jobs that ended lately without reading all others. */
export class EndedJobs1796200000000 implements Migration {
  readonly name = 'EndedJobs1796200000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX media_job_completed_index ON media_job (completed_at) WHERE completed_at IS NOT NULL',
    );
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
