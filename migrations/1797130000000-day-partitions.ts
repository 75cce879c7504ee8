import type { Migration } from '../src/core/database/migration-files';

/** `day_partition` and `partition_add`, for tables that are partitioned by day. */
export class DayPartitions1797130000000 implements Migration {
  readonly name = 'DayPartitions1797130000000';
  readonly routines = '7efa69974ccbcc1c';

  async up(): Promise<void> {}

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
