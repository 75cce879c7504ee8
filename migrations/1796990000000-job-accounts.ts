import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** A job keeps the account that its submission went to, since no other account knows the submission. */
export class JobAccounts1796990000000 implements Migration {
  readonly name = 'JobAccounts1796990000000';
  readonly routines = '6ea2880d811e0c1e';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_job ADD COLUMN submission_account text');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
