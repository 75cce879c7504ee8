import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { MONEY_POOL } from '../database/money-pool';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { PeriodicTask } from '../common/periodic-task';
import { SERVICE_VERSION } from '../common/service-version';

/**
 * `steady_since` starts anew after a gap: the sweeper must not act on leases that nobody could renew. A new instance
 * goes on where the others are: their heartbeats show that there was no gap. Else the holds of a gateway that crashes
 * again and again would never end.
 */
const HEARTBEAT = `
  INSERT INTO gateway_instance AS g (id, version, steady_since)
  SELECT $1, $2, COALESCE(min(other.steady_since), clock_timestamp())
    FROM gateway_instance other WHERE other.heartbeat_at > clock_timestamp() - interval '10 seconds'
  ON CONFLICT (id) DO UPDATE SET
    heartbeat_at = clock_timestamp(),
    steady_since = CASE WHEN g.heartbeat_at < clock_timestamp() - interval '10 seconds' THEN clock_timestamp()
                        ELSE g.steady_since END`;

/** A lease that still owns a hold stays, and dies of age, so that the hold is known to be orphaned and since when. */
const REMOVE = `
  DELETE FROM gateway_instance g
   WHERE g.id = $1 AND NOT EXISTS (SELECT FROM reservation r WHERE r.state = 'held' AND r.owner = g.id)`;

/** After a failed heartbeat: a lease is worth hurrying for. */
const RETRY_MS = 1_000;

/** This process's sign of life in the database. Holds of an owner without one are swept. */
@Injectable()
export class InstanceLeaseService {
  /** Owner of every hold made by this process. */
  readonly instanceId = randomUUID();
  private readonly logger = new Logger(InstanceLeaseService.name);
  private readonly heartbeat: PeriodicTask;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(BILLING_OPTIONS) options: BillingOptions,
  ) {
    this.heartbeat = new PeriodicTask({
      pauseMs: (hasFailed) => (hasFailed ? RETRY_MS : options.heartbeatIntervalMs),
      run: () => this.renew(),
      onError: (error) => this.logger.warn(`The instance lease could not be renewed: ${String(error)}`),
    });
  }

  /** Resolves when the lease has been taken, or could not be taken for now. */
  start(): Promise<void> {
    return this.heartbeat.start();
  }

  async renew(): Promise<void> {
    await this.pool.query(HEARTBEAT, [this.instanceId, SERVICE_VERSION]);
  }

  /** Gives the lease up. To be called when no hold of this process is left to end. */
  async stop(): Promise<void> {
    await this.heartbeat.stop();
    await this.pool.query(REMOVE, [this.instanceId]).catch((error: unknown) => {
      this.logger.warn(`The instance lease could not be removed: ${String(error)}`);
    });
  }
}
