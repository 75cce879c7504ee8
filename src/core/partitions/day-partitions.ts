import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CHECK_VIOLATION, hasSqlState } from '../database/driver-error';

/** A partition of a table that is partitioned by the UTC day of its `id`, a UUIDv7. */
export interface DayPartition {
  readonly name: string;
  /** `YYYY-MM-DD`; `null`: the first partition, or one that is detached. */
  readonly firstDay: string | null;
  /** The day after the last day; `null`: the last partition, or one that is detached. */
  readonly endDay: string | null;
  /** `detaching`: its detachment was interrupted; `detached`: it only remains to be dropped. */
  readonly state: 'attached' | 'detaching' | 'detached';
}

export interface Extension {
  /** Days for which a partition was added. */
  readonly addedCount: number;
  /** The last partition has taken rows, because no partition had been added in time. */
  readonly ranOut: boolean;
}

interface LastPartition {
  readonly name: string;
  readonly first_day: string;
  readonly days_ahead: number;
}

const LAST = `
  SELECT name, day_of_id(first_id)::text AS first_day,
         day_of_id(first_id) - (clock_timestamp() AT TIME ZONE 'UTC')::date AS days_ahead
    FROM day_partition WHERE table_name = $1 AND is_last`;

/** `undefined_table`: no longer a partition; `object_not_in_prerequisite_state`: its detachment has begun or ended. */
const TAKEN_BY_ANOTHER = ['42P01', '55000'];

/**
 * Adds, detaches and drops day partitions. No request waits for this longer than some milliseconds.
 */
@Injectable()
export class DayPartitions {
  constructor(private readonly dataSource: DataSource) {}

  /** The tables that are partitioned by day. */
  async tables(): Promise<string[]> {
    const rows = await this.dataSource.query<{ name: string }[]>(
      'SELECT DISTINCT table_name AS name FROM day_partition ORDER BY 1',
    );
    return rows.map(({ name }) => name);
  }

  /** The first instant whose day lacks a partition in some table; `null`: no table is partitioned by day. */
  async coveredUntil(): Promise<Date | null> {
    const [row] = await this.dataSource.query<{ at: Date | null }[]>(
      `SELECT min(day_of_id(first_id))::timestamp AT TIME ZONE 'UTC' AS at FROM day_partition WHERE is_last`,
    );
    return row?.at ?? null;
  }

  /** Oldest first. */
  list(table: string): Promise<DayPartition[]> {
    return this.dataSource.query<DayPartition[]>(
      `SELECT name, day_of_id(first_id)::text AS "firstDay", day_of_id(end_id)::text AS "endDay", state
         FROM day_partition WHERE table_name = $1 ORDER BY first_id NULLS FIRST, name`,
      [table],
    );
  }

  /**
   * Adds partitions until the last one, which takes all later rows, begins `daysAhead` days after today by the
   * database's clock.
   * @throws Error of PostgreSQL, `lock_not_available`: another process is doing so, or the table was not free in time
   */
  async extend(table: string, daysAhead: number): Promise<Extension> {
    let addedCount = 0;
    let ranOut = false;
    for (;;) {
      const [last] = await this.dataSource.query<LastPartition[]>(LAST, [table]);
      if (last === undefined) throw new Error(`The table ${table} has no last partition.`);
      if (last.days_ahead >= daysAhead) return { addedCount, ranOut };
      const isUsed = await this.hasRows(last.name);
      ranOut ||= isUsed;
      // Rows of today and tomorrow may be in the last partition, or arrive before its range is closed.
      const day = dayAfter(last.first_day, isUsed ? Math.max(1, 2 - last.days_ahead) : 1);
      if (isUsed) await this.checkRange(last, day);
      try {
        await this.dataSource.query('SELECT partition_add($1, $2)', [table, day]);
        addedCount++;
      } catch (error) {
        // After days without any process, a row may have arrived since: the next pass finds it used.
        if (isUsed || !hasSqlState(error, CHECK_VIOLATION)) throw error;
      }
    }
  }

  /**
   * Detaches a partition and drops it; `false`: another process is doing so. The next call completes an interrupted
   * one.
   * @throws Error of PostgreSQL, `query_canceled`: a transaction still reads the table
   */
  async remove(table: string, { name, state }: DayPartition): Promise<boolean> {
    try {
      // PostgreSQL waits for the transactions that read the table, but no statement waits for it.
      if (state === 'attached')
        await this.dataSource.query(`ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`);
      if (state === 'detaching') await this.dataSource.query(`ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`);
      await this.dataSource.query(`DROP TABLE ${name}`);
      return true;
    } catch (error) {
      if (hasSqlState(error, ...TAKEN_BY_ANOTHER)) return false;
      throw error;
    }
  }

  private async hasRows(partition: string): Promise<boolean> {
    const [row] = await this.dataSource.query<{ exists: boolean }[]>(`SELECT EXISTS (SELECT FROM ${partition})`);
    return row?.exists === true;
  }

  /** Scans the rows while writes continue, so that `partition_add` does not have to scan them under its lock. */
  private async checkRange({ name, first_day: firstDay }: LastPartition, day: string): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.query(`SET LOCAL lock_timeout = '50ms'`);
      const [range] = await manager.query<{ text: string }[]>(
        `SELECT format('id >= %L AND id < %L', first_id_of($1), first_id_of($2)) AS text`,
        [firstDay, day],
      );
      await manager.query(
        `ALTER TABLE ${name} DROP CONSTRAINT IF EXISTS day_range, ADD CONSTRAINT day_range CHECK (${range?.text}) NOT VALID`,
      );
    });
    await this.dataSource.query(`ALTER TABLE ${name} VALIDATE CONSTRAINT day_range`);
  }
}

function dayAfter(day: string, days: number): string {
  const date = new Date(day);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}
