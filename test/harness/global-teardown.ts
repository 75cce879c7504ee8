import { Client } from 'pg';
import { stopRealServers } from './servers';
import { stopTestServices } from './test-services';

/** Removes every database of this run, then the services if this run started them. */
export default async function globalTeardown(): Promise<void> {
  await dropDatabases(process.env.TEST_DATABASE_URL, process.env.TEST_DATABASE_PREFIX);
  await stopRealServers();
  await stopTestServices();
}

async function dropDatabases(url: string | undefined, prefix: string | undefined): Promise<void> {
  if (url === undefined || prefix === undefined) {
    return;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      'SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)',
      [prefix],
    );
    for (const { name } of rows) {
      await client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`);
    }
  } finally {
    await client.end();
  }
}
