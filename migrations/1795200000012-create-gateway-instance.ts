import type { MigrationInterface, QueryRunner } from 'typeorm';

/** One row per running process: the lease that keeps its reservations from being swept. */
export class CreateGatewayInstance1795200000012 implements MigrationInterface {
  readonly name = 'CreateGatewayInstance1795200000012';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE gateway_instance (
        id text NOT NULL,
        started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        steady_since timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT gateway_instance_pkey PRIMARY KEY (id)
      ) WITH (fillfactor = 50);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE gateway_instance');
  }
}
