import type { Pool, PoolClient } from 'pg';
import { createTestPool } from '../harness/database';
import { until } from './figures';

/** The steps of a job that a worker commits, by their changes to its row. */
export const STEPS = {
  claim: 'NEW.fence > OLD.fence',
  'begin of the submission': 'OLD.submit_started_at IS NULL AND NEW.submit_started_at IS NOT NULL',
  handle: 'OLD.provider_handle IS NULL AND NEW.provider_handle IS NOT NULL',
  poll: `NEW.polls > OLD.polls AND NEW.status = 'running' AND NEW.completed_at IS NULL`,
  'begin of finalizing': 'NEW.finalizing_at IS DISTINCT FROM OLD.finalizing_at',
  end: 'OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL',
} as const;
export type Step = keyof typeof STEPS;

const LOCK = 4_711;
const INSTALL = `
  CREATE OR REPLACE TRIGGER test_stop BEFORE UPDATE ON media_job FOR EACH ROW EXECUTE FUNCTION test_stop()`;
const WAITING = `
  SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Stops workers at a step, in the database: the statement that commits the step waits for a lock of the test. The test
 * decides the effect of a worker killed there: its statement is rolled back, or commits unseen.
 */
export class JobStop {
  private constructor(
    private readonly pool: Pool,
    private readonly client: PoolClient,
  ) {}

  /** Of the next workers that reach this step. */
  static async at(step: Step, databaseUrl: string): Promise<JobStop> {
    const pool = createTestPool(databaseUrl, 1);
    const client = await pool.connect();
    // A failed test drops its database during a query.
    client.on('error', () => undefined);
    await client.query(`
      CREATE OR REPLACE FUNCTION test_stop() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF ${STEPS[step]} THEN PERFORM pg_advisory_xact_lock_shared(${LOCK}); END IF;
        RETURN NEW;
      END $$`);
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    await client.query(INSTALL);
    return new JobStop(pool, client);
  }

  /** Resolves when this many statements wait. */
  async reached(count: number): Promise<void> {
    await until(`the stop of ${count} statements`, 20_000, async () => (await this.waiting()).length >= count);
  }

  /** Rolls back the waiting statements or lets them commit; from then on no worker is stopped. */
  async end(outcome: 'rolled back' | 'committed'): Promise<void> {
    if (outcome === 'rolled back') await until('the end of the waiting', 5_000, () => this.rollBack());
    await this.client.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    this.client.release();
    await this.pool.end();
  }

  /** `true` when no statement waits. Statements of killed workers can arrive late. */
  private async rollBack(): Promise<boolean> {
    const waiting = await this.waiting();
    await this.client.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [waiting]);
    return waiting.length === 0;
  }

  private async waiting(): Promise<number[]> {
    return (await this.client.query<{ pid: number }>(WAITING)).rows.map(({ pid }) => pid);
  }
}
