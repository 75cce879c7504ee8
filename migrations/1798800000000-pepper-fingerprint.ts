import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Stores with which `API_KEY_PEPPER` keys were digested, so that another one is noticed at start. */
export class PepperFingerprint1798800000000 implements Migration {
  readonly name = 'PepperFingerprint1798800000000';
  readonly routines = 'ef9c9018fdc06346';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE deployment_identity ADD COLUMN pepper_fingerprint text');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Drop the column in another one instead.');
  }
}
