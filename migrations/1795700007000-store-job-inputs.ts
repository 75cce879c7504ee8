import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Images of a video job are fetched and stored before it takes a place at a deployment; the row says which are there. */
export class StoreJobInputs1795700007000 implements MigrationInterface {
  readonly name = 'StoreJobInputs1795700007000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_job ADD COLUMN input_types jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_job DROP COLUMN input_types');
  }
}
