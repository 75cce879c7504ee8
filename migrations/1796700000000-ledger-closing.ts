import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Closed days: their sums take the place of their requests in the periodic audit. */
export class LedgerClosing1796700000000 implements Migration {
  readonly name = 'LedgerClosing1796700000000';
  readonly routines = 'f48aa485a0258a33';

  async up(runner: QueryRunner): Promise<void> {
    // `closed_at` is NULL while `violations` keep the day from being closed. `verified_at`: the last time that the audit has
    // compared the closed day with its requests; `violations` are what it found.
    await runner.query(`
      CREATE TABLE ledger_day (
        day date NOT NULL,
        closed_at timestamptz,
        verified_at timestamptz NOT NULL DEFAULT '-infinity',
        violations jsonb NOT NULL DEFAULT '[]',
        CONSTRAINT ledger_day_pkey PRIMARY KEY (day)
      )`);
    await runner.query(`
      CREATE TABLE ledger_closing (
        day date NOT NULL,
        organization_id uuid NOT NULL,
        reservation_count bigint NOT NULL,
        charge_count bigint NOT NULL,
        charged_micro bigint NOT NULL,
        uncollected_micro bigint NOT NULL,
        checksum numeric NOT NULL,
        CONSTRAINT ledger_closing_pkey PRIMARY KEY (day, organization_id)
      )`);
    // What the closed day adds to the windows. A request that arrives at midnight may count in the windows of the next day.
    await runner.query(`
      CREATE TABLE ledger_closing_window (
        closed_day date NOT NULL,
        organization_id uuid NOT NULL,
        key_id uuid NOT NULL,
        day date NOT NULL,
        month date NOT NULL,
        spent_micro bigint NOT NULL,
        CONSTRAINT ledger_closing_window_pkey PRIMARY KEY (closed_day, organization_id, key_id, day, month)
      )`);
    await runner.query('CREATE INDEX ledger_closing_window_day_index ON ledger_closing_window (day)');
    await runner.query('CREATE INDEX spend_window_start_index ON spend_window (scope, window_start)');
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
