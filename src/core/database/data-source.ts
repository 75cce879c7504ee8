/**
 * The TypeORM connection to PostgreSQL. Entities and migrations are listed, the schema is never synchronized, and no
 * extension is created: the migrations are the only way to change a database. Money has its own pool (money-pool.ts).
 */
import { Client } from 'pg';
import { DataSource, type Logger } from 'typeorm';
import { ENTITIES } from './entities';
import type { Migration } from './migration-files';
import { MIGRATIONS } from './migrations';
import { SnakeNamingStrategy } from './snake-naming.strategy';

export interface DataSourceSettings {
  readonly url: string;
  readonly poolSize: number;
  /**
   * The URL leads to a pooler in transaction mode, which refuses startup parameters: the limits of the server come from
   * the role (README.md). Default: no.
   */
  readonly isPooled?: boolean;
  /** The server cancels a statement that runs longer; 0 lets it run, as migrations need. Default 10 s. */
  readonly statementTimeoutMs?: number;
  /** Default {@link CONNECT_TIMEOUT_MS}. */
  readonly connectTimeoutMs?: number;
  /** The client class of the pool. Default: `Client` of `pg`. */
  readonly client?: typeof Client;
  /** Default {@link MIGRATIONS}. */
  readonly migrations?: readonly (new () => Migration)[];
  /** Called for connections that broke while idle. The pool has already dropped and replaces them. */
  readonly onPoolError?: (error: Error) => void;
}

/** JIT compilation and parallel workers cost more than any of these statements, at the expense of all others. */
export const PLANNER_OPTIONS = '-c jit=off -c max_parallel_workers_per_gather=0';

/** The message of `pg` for a query without an answer in time. */
const NO_ANSWER = 'Query read timeout';

/** Requests get their 503 within 2.5 s while PostgreSQL is unavailable. */
export const CONNECT_TIMEOUT_MS = 2_000;

const ignore = (): void => undefined;

/**
 * By default TypeORM reports a failed migration on standard output, which is for results. Serving processes turn
 * console output into log lines.
 */
const LOGGER: Logger = {
  logQuery: ignore,
  logQueryError: ignore,
  logQuerySlow: ignore,
  logSchemaBuild: ignore,
  logMigration: (message) => console.error(message), // oxlint-disable-line no-console
  log: ignore,
};

/** A data source that is not connected yet; `initialize()` rejects after two seconds when the server is unavailable. */
export function createDataSource(settings: DataSourceSettings): DataSource {
  const {
    onPoolError = () => undefined,
    isPooled = false,
    statementTimeoutMs = 10_000,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    migrations = MIGRATIONS,
  } = settings;
  return new DataSource({
    type: 'postgres',
    url: settings.url,
    applicationName: 'gateway',
    poolSize: settings.poolSize,
    connectTimeoutMS: connectTimeoutMs,
    poolErrorHandler: onPoolError,
    entities: [...ENTITIES],
    migrations: [...migrations],
    migrationsTableName: 'migrations',
    namingStrategy: new SnakeNamingStrategy(),
    synchronize: false,
    logger: LOGGER,
    installExtensions: false,
    // Selects gen_random_uuid(), which PostgreSQL has without any extension since version 13.
    uuidExtension: 'pgcrypto',
    extra: {
      Client: closingUnanswered(settings.client ?? Client),
      keepAlive: true,
      // Overrides the limit of the role, which a pooler needs, even with 0 (no limit).
      ...(!isPooled && { options: `${PLANNER_OPTIONS} -c statement_timeout=${statementTimeoutMs}` }),
      // The server's statement timeout does not help when the server vanished without closing the connection.
      query_timeout: statementTimeoutMs === 0 ? undefined : statementTimeoutMs + 1_000,
    },
  });
}

/**
 * Connections that close when a query gets no answer in time: the server may have vanished, and the next query would
 * wait behind this one. If the server is alive, it has an open transaction. TypeORM would return such a connection to
 * its pool.
 */
function closingUnanswered(base: typeof Client): typeof Client {
  return class extends base {
    override query(...parameters: unknown[]): never {
      const answer: unknown = super.query(...(parameters as Parameters<Client['query']>));
      // Closes before TypeORM sees the error. A pool that runs the query itself passes a callback and closes by itself.
      if (answer instanceof Promise) {
        answer.catch((error: Error) => {
          if (error.message === NO_ANSWER) void this.end();
        });
      }
      return answer as never;
    }
  };
}
