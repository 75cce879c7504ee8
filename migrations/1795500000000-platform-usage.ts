import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Finds the totals of a period for all organizations together. */
export class PlatformUsage1795500000000 implements Migration {
  readonly name = 'PlatformUsage1795500000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX usage_by_model_time_index ON usage_by_model (span, starts_at)');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
