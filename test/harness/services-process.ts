/** The process behind `test-services.ts`: runs embedded services in the folder of the run until the channel closes. */
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import pino from 'pino';
import { startEmbeddedServices } from '../../src/core/embedded/embedded-services';
import { createRunFolder } from './run-folder';

async function main(): Promise<void> {
  const disconnected = new Promise((resolve) => process.once('disconnect', resolve));
  const folder = createRunFolder();
  const dataDir = join(folder, 'services');
  mkdirSync(dataDir);
  chmodSync(dataDir, 0o711);
  try {
    const settings = { dataDir, databaseUrl: null, redisUrl: null };
    const services = await startEmbeddedServices(settings, pino({ level: 'error' }));
    await forgetOnPowerLoss(services.databaseUrl);
    process.send?.({ databaseUrl: services.databaseUrl, redisUrl: services.redisUrl, folder });
    await disconnected;
    await services.stop();
  } finally {
    // The programs of an interrupted test may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * A test run creates hundreds of databases, and syncing them to disk sometimes delayed a statement beyond the gateway's
 * timeout. The tests that kill PostgreSQL use a separate server with its defaults.
 */
async function forgetOnPowerLoss(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('ALTER SYSTEM SET fsync = off');
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}

void main();
