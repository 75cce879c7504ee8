import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Limits of all keys of an organization together, beside those of each key. NULL: no such limit. */
export class AddOrganizationLimits1795300000000 implements MigrationInterface {
  readonly name = 'AddOrganizationLimits1795300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization
        ADD COLUMN requests_per_second integer,
        ADD COLUMN requests_per_minute integer,
        ADD COLUMN tokens_per_minute integer,
        ADD COLUMN concurrency integer,
        ADD CONSTRAINT organization_limits_check CHECK (
          requests_per_second > 0 AND requests_per_minute > 0 AND tokens_per_minute > 0 AND concurrency > 0
        )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization
        DROP COLUMN requests_per_second,
        DROP COLUMN requests_per_minute,
        DROP COLUMN tokens_per_minute,
        DROP COLUMN concurrency`);
  }
}
