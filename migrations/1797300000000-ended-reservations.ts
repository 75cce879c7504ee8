import type { QueryRunner } from 'typeorm';
import { type Migration, readSql } from '../src/core/database/migration-files';

/**
 * A hold is a row of a small table. It is deleted when it ends, and the ended reservation is written once, with its charge, into
 * the partition of its day. `reservation` and `ledger_entry` become views with the columns that they had as tables.
 *
 * The checksums of closed days cover the columns of the old tables, so all days are open afterwards and closed again.
 */
export class EndedReservations1797300000000 implements Migration {
  readonly name = 'EndedReservations1797300000000';
  readonly routines = '3e3b7eb419c45c67';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(readSql('ended-reservations/tables.sql'));
    await runner.query(readSql('ended-reservations/move.sql'));
    // They read the old tables, and are created again.
    await runner.query('DROP VIEW IF EXISTS money_violations, record_violations');
    await runner.query('DROP TABLE reservation');
    await runner.query('DROP TABLE ledger_entry');
    await runner.query(`
      DROP FUNCTION IF EXISTS pair_violations(uuid, uuid), ledger_sums(uuid, uuid), reservation_ends_once(),
        ledger_entry_is_append_only()`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
