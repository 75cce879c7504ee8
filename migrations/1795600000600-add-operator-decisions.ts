import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an operator has decided about a model or a deployment, beside what the files say. NULL: nothing, the files hold. */
export class AddOperatorDecisions1795600000600 implements MigrationInterface {
  readonly name = 'AddOperatorDecisions1795600000600';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE model ADD COLUMN decided_enabled boolean, ADD COLUMN decided_limits jsonb`);
    await runner.query(`
      ALTER TABLE deployment
        ADD COLUMN decided_enabled boolean,
        ADD COLUMN decided_priority integer,
        ADD COLUMN decided_weight integer,
        ADD CONSTRAINT deployment_decided_check CHECK (decided_priority >= 0 AND decided_weight > 0)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE deployment
        DROP COLUMN decided_enabled, DROP COLUMN decided_priority, DROP COLUMN decided_weight`);
    await runner.query(`ALTER TABLE model DROP COLUMN decided_enabled, DROP COLUMN decided_limits`);
  }
}
