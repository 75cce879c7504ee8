import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Totals by model count the latencies of successful requests (`usage_latency_sum`). Older totals and deltas have none, and
 * `latency_since` says from when on all requests are counted; without it, all are.
 */
export class UsageLatency1796600000000 implements Migration {
  readonly name = 'UsageLatency1796600000000';
  readonly routines = '91adf054bd41e091';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE usage_delta ADD COLUMN latency bigint[]');
    await runner.query('ALTER TABLE usage_by_model ADD COLUMN latency bigint[]');
    await runner.query('ALTER TABLE receipt_history ADD COLUMN latency_since timestamptz');
    await runner.query(`
      INSERT INTO receipt_history (kept_since, latency_since)
        SELECT '-infinity', clock_timestamp() WHERE EXISTS (SELECT FROM usage_record)`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
