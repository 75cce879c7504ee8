/**
 * A separate database for every test file: a copy of the template that `global-setup.ts` has prepared. A copy takes
 * about 50 ms and isolates the tests' rows.
 */
import { randomUUID } from 'node:crypto';
import { Client, Pool, type PoolClient } from 'pg';

/** More than any busy machine takes for a connection or a statement. */
export const PATIENCE_MS = 60_000;

export interface TestDatabase {
  readonly url: string;
  /** Closes all remaining connections and removes the database. */
  drop(): Promise<void>;
}

/** A migrated database with the built-in models, and without any other rows. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(requireEnvironment('TEST_TEMPLATE_DATABASE'));
}

/** A copy of a database without connections. */
export async function copyTestDatabase({ url }: TestDatabase): Promise<TestDatabase> {
  return createDatabase(new URL(url).pathname.slice(1));
}

/** A database without a single table, for tests of the migrations themselves. */
export async function createEmptyTestDatabase(): Promise<TestDatabase> {
  return createDatabase('template1');
}

/**
 * Connections of a test itself. `pool.end()` resolves before they are closed, so a server message about the dropped
 * database can arrive during another test, and must not fail it.
 */
export function createTestPool(url: string, size: number): Pool {
  return new Pool({ connectionString: url, max: size }).on('error', () => undefined);
}

/** Runs `work` in a transaction that is always rolled back, so that cases do not affect each other. */
export async function inSandbox<Result>(pool: Pool, work: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    return await work(client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/**
 * The URL of a database without timeouts, like `patient` of redis.ts for Redis: a server without CPU time for a moment
 * must not cause refusals. Refusals by statement timeouts must be retried, which only simulated clients do.
 */
export function patientDatabase(strictUrl: string): string {
  const url = new URL(strictUrl);
  // Parameters of the URL come before the options of the code.
  for (const limit of ['lock_timeout', 'statement_timeout', 'query_timeout']) {
    url.searchParams.set(limit, String(PATIENCE_MS));
  }
  return url.href;
}

/** Runs one statement that needs no particular database, such as `CREATE DATABASE`. */
export async function queryServer(statement: string): Promise<void> {
  const client = new Client({ connectionString: requireEnvironment('TEST_DATABASE_URL') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** The URL of another database on the test server. */
export function databaseUrl(name: string): string {
  const url = new URL(requireEnvironment('TEST_DATABASE_URL'));
  url.pathname = `/${name}`;
  return url.href;
}

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `${requireEnvironment('TEST_DATABASE_PREFIX')}${randomUUID().replaceAll('-', '')}`;
  await queryServer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  if (template !== 'template1') await renewIdentity(databaseUrl(name));
  return {
    url: databaseUrl(name),
    drop: () => queryServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** Copies share a Redis, and must not take each other's wake-ups. */
async function renewIdentity(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('UPDATE deployment_identity SET id = gen_random_uuid()');
  } finally {
    await client.end();
  }
}

function requireEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined) {
    throw new Error(`${name} is not set: tests with services need the jest.config.js of this project`);
  }
  return value;
}

/** As `ReadDatabase` without `DATABASE_READ_URL`. */
export const NO_REPLICA = { readReplica: async (): Promise<null> => null };
