import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type DayPartition, DayPartitions } from '../../core/partitions/day-partitions';
import { CLOCK, type Clock } from '../../core/time/clock';

const TABLE = 'usage_record';
const DAY_MS = 86_400_000;
/** A day may still get receipts for this long: a job ends up to 7 days after its submission. */
const RECEIPTS_ARRIVE_MS = 8 * DAY_MS;

/** Removes receipts after their retention, whole days at a time. */
@Injectable()
export class ReceiptRetention {
  constructor(
    private readonly dataSource: DataSource,
    private readonly partitions: DayPartitions,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /**
   * Deletes at most `limit` receipts older than `before` that were written before receipts were partitioned by day,
   * skipping rows locked by other processes; returns how many.
   */
  async prune(before: Date, limit: number): Promise<number> {
    const [row] = await this.dataSource.query<{ removed: number }[]>('SELECT usage_prune($1, $2) AS removed', [
      before,
      limit,
    ]);
    return row?.removed ?? 0;
  }

  /**
   * Removes the days whose receipts are all older than `before`; returns how many.
   * @throws Error of PostgreSQL, `query_canceled`: a transaction is still reading receipts; the next call completes the
   *   removal
   */
  async removeDays(before: Date): Promise<number> {
    let removed = 0;
    for (const day of await this.partitions.list(TABLE)) {
      if (day.state === 'attached' && !(await this.isOver(day, before))) continue;
      // Recorded before the receipts are removed, so that the verification does not miss them.
      await this.dataSource.query(
        `INSERT INTO receipt_history (kept_since)
           SELECT $1::timestamptz WHERE NOT EXISTS (SELECT FROM receipt_history WHERE kept_since >= $1)`,
        [before],
      );
      if (await this.partitions.remove(TABLE, day)) removed++;
    }
    return removed;
  }

  private async isOver({ name, firstDay, endDay }: DayPartition, before: Date): Promise<boolean> {
    if (firstDay === null || endDay === null) return false;
    const endMs = Date.parse(endDay);
    if (endMs > before.getTime() || endMs > this.clock.now() - RECEIPTS_ARRIVE_MS) return false;
    const [row] = await this.dataSource.query<{ has_recent: boolean }[]>(
      `SELECT EXISTS (SELECT FROM organization o,
                        LATERAL (SELECT FROM ${name} r
                                  WHERE r.organization_id = o.id AND r.created_at >= $1 LIMIT 1) recent) AS has_recent`,
      [before],
    );
    return row?.has_recent === false;
  }
}
