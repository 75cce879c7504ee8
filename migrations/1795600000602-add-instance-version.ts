import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which version each process runs. NULL: one that does not say so. */
export class AddInstanceVersion1795600000602 implements MigrationInterface {
  readonly name = 'AddInstanceVersion1795600000602';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE gateway_instance ADD COLUMN version text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE gateway_instance DROP COLUMN version`);
  }
}
