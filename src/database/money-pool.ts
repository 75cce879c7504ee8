import { Pool, types, type CustomTypesConfig } from 'pg';
import { CONNECT_TIMEOUT_MS } from './data-source';

/** Injection token of the pool that only billing uses. */
export const MONEY_POOL = Symbol('MoneyPool');

export interface MoneyPoolSettings {
  readonly url: string;
  readonly poolSize: number;
  /** Default {@link CONNECT_TIMEOUT_MS}. */
  readonly connectTimeoutMs?: number;
  readonly onPoolError: (error: Error) => void;
}

/** Amounts arrive as `bigint`; everything else as `pg` reads it. */
const MONEY_TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === types.builtins.INT8 && format !== 'binary' ? BigInt : types.getTypeParser(oid, format),
};

/**
 * Connections for money, apart from the others, so that no slow query keeps a reservation waiting. The limits are
 * those of the money design: whoever waits longer for a row is refused, and a transaction that its process forgot is
 * rolled back. The server's word outlasts a crash: a commit returns when it is on disk.
 */
export function createMoneyPool(settings: MoneyPoolSettings): Pool {
  const { url, poolSize, connectTimeoutMs = CONNECT_TIMEOUT_MS, onPoolError } = settings;
  const pool = new Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'gateway money',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    lock_timeout: 1_000,
    statement_timeout: 2_000,
    // Above the server's own limit: only a server that vanished is given up by this one.
    query_timeout: 2_300,
    idle_in_transaction_session_timeout: 5_000,
    options: '-c synchronous_commit=on',
    types: MONEY_TYPES,
  });
  pool.on('error', onPoolError);
  // The pool listens only to what lies in it. One that breaks in somebody's hands fails their query; without a listener it
  // would end the process as well.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
