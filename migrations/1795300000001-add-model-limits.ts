import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How fast everybody together may ask for a model: the \`limits\` of the catalogue files. NULL: no limit. */
export class AddModelLimits1795300000001 implements MigrationInterface {
  readonly name = 'AddModelLimits1795300000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE model ADD COLUMN limits jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE model DROP COLUMN limits`);
  }
}
