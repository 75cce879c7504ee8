import { randomBytes } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { MONEY_POOL } from '../../core/database/money-pool';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { PeriodicTask } from '../../core/time/periodic-task';
import { SERVICE_VERSION } from '../../core/types/service-version';
import { DataSource } from 'typeorm';

/**
 * `steady_since` is reset after a gap, so that the sweeper does not act on leases that could not be renewed during an
 * outage. A new instance inherits the value from the others, whose heartbeats prove that there was no gap. Otherwise
 * the holds of a gateway that crashes repeatedly would never end.
 */
const HEARTBEAT = `
  INSERT INTO gateway_instance AS g (id, version, steady_since)
  SELECT $1, $2, COALESCE(min(other.steady_since), clock_timestamp())
    FROM gateway_instance other WHERE other.heartbeat_at > clock_timestamp() - interval '10 seconds'
  ON CONFLICT (id) DO UPDATE SET
    heartbeat_at = clock_timestamp(),
    steady_since = CASE WHEN g.heartbeat_at < clock_timestamp() - interval '10 seconds' THEN clock_timestamp()
                        ELSE g.steady_since END`;

/** A lease that still owns a hold is kept until it expires: its age shows how long the hold has been orphaned. */
const REMOVE = `
  DELETE FROM gateway_instance g
   WHERE g.id = $1 AND NOT EXISTS (SELECT FROM hold h WHERE h.owner = g.id)`;

/** Pause after a failed heartbeat; shorter than the regular one because a lost lease orphans holds. */
const RETRY_MS = 1_000;

/**
 * The lease of this process in the database. Holds of an owner without a lease are swept. The heartbeat is not a
 * scheduled task, because it must outlive those, until the last holds of a stopping process have ended.
 */
@Injectable()
export class InstanceLeaseService {
  /** Owner of every hold made by this process: 12 characters, because each hold repeats them. */
  readonly instanceId = randomBytes(9).toString('base64url');
  private readonly logger = new Logger(InstanceLeaseService.name);
  private readonly heartbeat: PeriodicTask;
  private started = false;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(BILLING_OPTIONS) options: BillingOptions,
  ) {
    this.heartbeat = new PeriodicTask({
      pauseMs: (hasFailed) => (hasFailed ? RETRY_MS : options.heartbeatIntervalMs),
      run: () => this.renew(),
      onError: (error) =>
        this.logger.warn({
          event: 'lease_renewal_failed',
          message: 'the instance lease was not renewed',
          failure: String(error),
        }),
    });
  }

  /** Whether this process has tried to take its lease and has not stopped since. */
  get isStarted(): boolean {
    return this.started;
  }

  /** Resolves after the first attempt to take the lease, successful or not. */
  async start(): Promise<void> {
    await this.heartbeat.start();
    this.started = true;
  }

  async renew(): Promise<void> {
    await this.pool.query(HEARTBEAT, [this.instanceId, SERVICE_VERSION]);
  }

  /** Removes the lease. Call it after all holds of this process have ended. */
  async stop(): Promise<void> {
    this.started = false;
    await this.heartbeat.stop();
    await this.pool.query(REMOVE, [this.instanceId]).catch((error: unknown) => {
      this.logger.warn({
        event: 'lease_removal_failed',
        message: 'the instance lease was not removed',
        failure: String(error),
      });
    });
  }
}

/** A running process as described by its lease. */
export interface RunningInstance {
  readonly id: string;
  /** Version of the service; `null`: not recorded. */
  readonly version: string | null;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  /** Whole milliseconds since the last heartbeat, by the database's clock. */
  readonly heartbeatAgeMs: number;
}

/** Older leases count as expired, as in the sweep of holds. */
export const LEASE_LIFETIME_MS = 20_000;

/** Lists the running processes. */
@Injectable()
export class InstanceDirectoryService {
  constructor(private readonly dataSource: DataSource) {}

  /** Most recently started first. Ages use the database's clock, as the heartbeats do. */
  async list(): Promise<RunningInstance[]> {
    const rows = await this.dataSource.query<(Omit<RunningInstance, 'heartbeatAgeMs'> & { readonly age: string })[]>(
      `SELECT id, version, started_at AS "startedAt", heartbeat_at AS "heartbeatAt",
              greatest(0, extract(epoch FROM clock_timestamp() - heartbeat_at) * 1000)::bigint::text AS age
         FROM gateway_instance ORDER BY started_at DESC, id`,
    );
    return rows.map(({ age, ...row }) => ({ ...row, heartbeatAgeMs: Number(age) }));
  }
}
