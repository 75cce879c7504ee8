import { type Client, Pool, TypeOverrides, types } from 'pg';
import { CONNECT_TIMEOUT_MS } from './data-source';

/** Injection token of the billing pool. */
export const MONEY_POOL = Symbol('MoneyPool');

export interface MoneyPoolSettings {
  readonly url: string;
  readonly poolSize: number;
  /** Default {@link CONNECT_TIMEOUT_MS}. */
  readonly connectTimeoutMs?: number;
  /** The client class of the pool. Default: `Client` of `pg`. */
  readonly client?: typeof Client;
  readonly onPoolError: (error: Error) => void;
}

/** Parses amounts as `bigint`, and everything else as `pg` does. */
const MONEY_TYPES = new TypeOverrides();
MONEY_TYPES.setTypeParser(types.builtins.INT8, BigInt);

/**
 * A separate connection pool for money, so that slow queries do not delay reservations. The limits are those of the
 * money design: longer lock waits are refused, and abandoned transactions are rolled back. Commits survive a crash: a
 * commit returns when it is on disk.
 */
export function createMoneyPool(settings: MoneyPoolSettings): Pool {
  const { url, poolSize, connectTimeoutMs = CONNECT_TIMEOUT_MS, client, onPoolError } = settings;
  const pool = new Pool({
    Client: client,
    connectionString: url,
    max: poolSize,
    application_name: 'gateway money',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    lock_timeout: 1_000,
    statement_timeout: 2_000,
    // Above the server's own limit, so that this timeout applies only when the server has vanished.
    query_timeout: 2_300,
    idle_in_transaction_session_timeout: 5_000,
    options: '-c synchronous_commit=on',
    types: MONEY_TYPES,
  });
  pool.on('error', onPoolError);
  // The pool handles errors of idle connections only. An error of a checked-out connection fails its query; without a
  // listener it would also end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
