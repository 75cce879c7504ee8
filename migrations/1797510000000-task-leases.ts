import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Leases of tasks that one process runs at a time, in place of advisory locks.
 *
 * Processes of the previous release call the new sweeps, so these exclude each other. Its audit and its closing still take their
 * advisory lock and no lease, and may run beside those of this release. That is harmless: a day is closed under a lock of its own
 * (`ledger_close`), the second closing of it does nothing, and a second audit costs its time and stores what it has read.
 */
export class TaskLeases1797510000000 implements Migration {
  readonly name = 'TaskLeases1797510000000';
  readonly routines = '533cdc3dc2b7caa9';

  async up(runner: QueryRunner): Promise<void> {
    // `until`: free afterwards. `owner`: also of the latest lease that has ended.
    await runner.query(`
      CREATE TABLE task_lease (
        name text NOT NULL,
        owner text NOT NULL,
        until timestamptz NOT NULL,
        CONSTRAINT task_lease_pkey PRIMARY KEY (name)
      )`);
    await runner.query(`
      INSERT INTO task_lease (name, owner, until)
      SELECT name, '', '-infinity' FROM unnest('{ledger_audit,ledger_closing,idempotency_sweep,money_sweep}'::text[]) name`);
    // It gets another parameter.
    await runner.query('DROP FUNCTION IF EXISTS idempotency_sweep(integer)');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
