import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys and base URLs of providers that an operator has stored. They win over those of the environment. */
export class CreateProviderCredential1795600000601 implements MigrationInterface {
  readonly name = 'CreateProviderCredential1795600000601';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE provider_credential (
        name text NOT NULL,
        sealed text NOT NULL,
        last4 text,
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT provider_credential_pkey PRIMARY KEY (name)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE provider_credential');
  }
}
