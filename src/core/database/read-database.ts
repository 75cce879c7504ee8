import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DatabaseError, Pool, type PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { cancelOnAbort } from './cancel-on-abort';
import { isDatabaseUnavailable } from './database-outage';
import { CONNECT_TIMEOUT_MS, PLANNER_OPTIONS } from './data-source';

export interface ReplicaSettings {
  readonly url: string;
  readonly poolSize: number;
  /** As in `DataSourceSettings`. */
  readonly isPooled: boolean;
}

/** `primary`: there is no replica, or it is unavailable or behind. */
export type ReadSource = 'replica' | 'primary';

/** A replica that is further behind is not read. */
const MAX_LAG_S = 30;
const STATEMENT_TIMEOUT_MS = 10_000;
const QUERY_CANCELED = '57014';

/** Every serving process renews its row every few seconds, so the newest row shows how far the replica is behind. */
const LAG = `
  SELECT COALESCE(extract(epoch FROM clock_timestamp() - max(heartbeat_at)), 'infinity')::double precision AS lag_s
    FROM gateway_instance`;

/**
 * For reads that may be some seconds old: lists, series, exports, audits. With `DATABASE_READ_URL` they go to a
 * replica, unless it is unreachable or more than 30 s behind; otherwise to the primary. Reads that decide about money
 * or limits, or must show what the same client has just written, use the `DataSource`.
 */
@Injectable()
export class ReadDatabase implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly replica: Pool | null;
  private current: ReadSource | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly primary: Pick<DataSource, 'query'>,
    settings: ReplicaSettings | null,
    private readonly checkEveryMs = 5_000,
  ) {
    this.replica = settings && openReplica(settings);
  }

  get source(): ReadSource {
    return this.current ?? 'primary';
  }

  /** `null`: there is no replica. */
  get connections(): Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'> | null {
    return this.replica;
  }

  /** Runs one read-only statement. When the replica fails meanwhile, the primary runs it again. */
  async query<Rows extends readonly unknown[]>(text: string, parameters?: unknown[]): Promise<Rows> {
    const { replica } = this;
    if (replica !== null && this.current === 'replica') {
      try {
        return (await replica.query(text, parameters)).rows as unknown as Rows;
      } catch (error) {
        // A statement that timed out would take as long on the primary.
        const isOverdue = error instanceof DatabaseError && error.code === QUERY_CANCELED;
        if (isOverdue || !isDatabaseUnavailable(error)) throw error;
        this.use('primary', String(error));
      }
    }
    return this.primary.query<Rows>(text, parameters);
  }

  /**
   * Runs read-only statements on one connection of the replica, in a transaction. `lagMs`: the maximum age of the data
   * that the first statement reads. Each statement may set its own `statement_timeout` and `query_timeout`.
   * @param signal cancels the running statement, which then fails
   * @returns `null` when no replica is usable or it failed meanwhile: the caller has to read the primary
   */
  async readReplica<Result>(
    read: (client: PoolClient, lagMs: number) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result | null> {
    const { replica } = this;
    if (replica === null || this.current !== 'replica') return null;
    try {
      const client = await replica.connect();
      const cancellation = cancelOnAbort(replica, client, signal);
      try {
        const lagSeconds = await readLag(client);
        if (lagSeconds > MAX_LAG_S) return null;
        await client.query('BEGIN READ ONLY');
        const result = await read(client, Math.max(0, lagSeconds * 1_000));
        await client.query('ROLLBACK');
        return result;
      } catch (error) {
        cancellation.destroy();
        throw error;
      } finally {
        cancellation.end();
      }
    } catch (error) {
      if (signal.aborted || !isDatabaseUnavailable(error)) throw error;
      this.use('primary', String(error));
      return null;
    }
  }

  onApplicationBootstrap(): void {
    if (this.replica !== null) void this.check(this.replica);
  }

  /** Later reads go to the primary, whose connections are closed after this. */
  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    this.current = 'primary';
    await this.replica?.end();
  }

  /** Reads keep their source until a check ends, including the first check and one that waits for a lost server. */
  private async check(replica: Pool): Promise<void> {
    try {
      const lagSeconds = await readLag(replica);
      this.use(lagSeconds <= MAX_LAG_S ? 'replica' : 'primary', `it is ${Math.round(lagSeconds)} s behind`);
    } catch (error) {
      this.use('primary', String(error));
    }
    if (!replica.ending) this.timer = setTimeout(() => void this.check(replica), this.checkEveryMs).unref();
  }

  private use(source: ReadSource, failure: string): void {
    if (source === this.current || this.replica?.ending) return;
    this.current = source;
    if (source === 'replica') {
      this.logger.log({ event: 'database_replica_used', message: 'lists and series are read from the replica' });
      return;
    }
    this.logger.warn({
      event: 'database_replica_unavailable',
      failure,
      message: 'lists and series are read from the primary because the replica cannot be used',
    });
  }
}

async function readLag(replica: Pick<Pool, 'query'>): Promise<number> {
  const { rows } = await replica.query<{ lag_s: number }>(LAG);
  return rows[0]?.lag_s ?? Infinity;
}

function openReplica({ url, poolSize, isPooled }: ReplicaSettings): Pool {
  const pool = new Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'gateway read',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(!isPooled && { options: `${PLANNER_OPTIONS} -c statement_timeout=${STATEMENT_TIMEOUT_MS}` }),
    query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
  });
  // The pool drops a connection that breaks while it is idle; a query on a broken one fails by itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
