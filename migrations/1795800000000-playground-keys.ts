import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Short-lived keys of users for the playground, and who created an API key. */
export class PlaygroundKeys1795800000000 implements Migration {
  readonly name = 'PlaygroundKeys1795800000000';
  readonly routines = '913e7b4fd6ce2a51';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key ADD COLUMN created_by uuid, ADD COLUMN playground_user_id uuid');
    await runner.query(`
      CREATE UNIQUE INDEX api_key_playground_index ON api_key (organization_id, playground_user_id)
       WHERE playground_user_id IS NOT NULL`);
    await runner.query(`
      CREATE TABLE playground_secret (
        digest     bytea       CONSTRAINT playground_secret_pkey PRIMARY KEY,
        api_key_id uuid        NOT NULL CONSTRAINT playground_secret_api_key_id_fkey REFERENCES api_key,
        session_id uuid        NOT NULL
                   CONSTRAINT playground_secret_session_id_fkey REFERENCES user_session ON DELETE CASCADE,
        created_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        CONSTRAINT playground_secret_digest_check CHECK (octet_length(digest) = 32)
      )`);
    await runner.query('CREATE INDEX playground_secret_api_key_index ON playground_secret (api_key_id, created_at)');
    await runner.query('CREATE INDEX playground_secret_session_index ON playground_secret (session_id)');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
