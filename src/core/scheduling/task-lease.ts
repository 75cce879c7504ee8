import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import type { ClientBase, Pool } from 'pg';
import { DataSource } from 'typeorm';

/** After this long, another process takes over the task of a process that has died. */
const LEASE_MS = 60_000;

const TAKE = 'SELECT task_lease_take($1, $2, $3) AS is_taken';
const RENEW = `
  UPDATE task_lease SET until = clock_timestamp() + make_interval(secs => $3)
   WHERE name = $1 AND owner = $2 AND until > clock_timestamp()`;
const GIVE_BACK = `
  UPDATE task_lease SET until = clock_timestamp() WHERE name = $1 AND owner = $2 AND until > clock_timestamp()`;
const REQUIRE = `
  SELECT FROM task_lease WHERE name = $1 AND owner = $2 AND until > clock_timestamp() FOR UPDATE`;

/** The lease of a task has lapsed, so another process may run it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

export interface TaskLease {
  /** Aborts when a renewal finds the lease lost. */
  readonly signal: AbortSignal;
  /**
   * Call this in the transaction that writes an outcome: until it ends, no other process takes the lease.
   * @throws LeaseLostError
   */
  requireHeld(client: ClientBase): Promise<void>;
}

/** Host, process id and a unique number. */
export function leaseOwner(): string {
  return `${hostname()}:${process.pid}:${randomUUID()}`;
}

/**
 * Runs `work` under the lease of a task, a row of `task_lease`, and renews it meanwhile. Resolves with `null` when
 * another process has the lease.
 */
export async function withTaskLease<Result>(
  pool: Pool,
  task: 'ledger_audit' | 'ledger_closing',
  work: (lease: TaskLease) => Promise<Result>,
  leaseMs = LEASE_MS,
): Promise<Result | null> {
  const key = [task, leaseOwner()];
  const term = [...key, leaseMs / 1_000];
  const { rows } = await pool.query<{ is_taken: boolean }>(TAKE, term);
  if (rows[0]?.is_taken !== true) return null;
  const lost = new AbortController();
  const renew = async (): Promise<void> => {
    const { rowCount } = await pool.query(RENEW, term);
    if (rowCount === 0) lost.abort();
  };
  // A failed renewal is repeated; the database decides whether the lease has lapsed meanwhile.
  const timer = setInterval(() => void renew().catch(() => undefined), leaseMs / 3);
  try {
    return await work({
      signal: lost.signal,
      requireHeld: async (client) => {
        const { rowCount } = await client.query(REQUIRE, key);
        if (rowCount === 0) throw new LeaseLostError(`The lease of ${task} has lapsed.`);
      },
    });
  } finally {
    clearInterval(timer);
    await pool.query(GIVE_BACK, key).catch(() => undefined);
  }
}

/** The lease of a task as operators see it. */
export interface TaskLeaseState {
  readonly task: string;
  /** The current or last holder; `null`: no process has run the task yet. */
  readonly owner: string | null;
  readonly held: boolean;
  /** `null` whenever `owner` is. */
  readonly until: Date | null;
}

/** Lists the leases of all tasks. */
@Injectable()
export class TaskLeaseDirectory {
  constructor(private readonly dataSource: DataSource) {}

  /** By name. */
  list(): Promise<TaskLeaseState[]> {
    return this.dataSource.query<TaskLeaseState[]>(`
      SELECT name AS task, nullif(owner, '') AS owner, until > clock_timestamp() AS held,
             CASE WHEN isfinite(until) THEN until END AS until
        FROM task_lease ORDER BY name`);
  }
}
