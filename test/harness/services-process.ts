/** The process behind `test-services.ts`: embedded services in a directory of their own until the channel closes. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { startEmbeddedServices } from '../../src/embedded/embedded-services';

async function main(): Promise<void> {
  const disconnected = new Promise((resolve) => process.once('disconnect', resolve));
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  // When the tests run as root, the account that PostgreSQL is lent has to get in.
  chmodSync(dataDir, 0o711);
  try {
    const settings = { dataDir, databaseUrl: null, redisUrl: null };
    const services = await startEmbeddedServices(settings, pino({ level: 'error' }));
    process.send?.({ databaseUrl: services.databaseUrl, redisUrl: services.redisUrl });
    await disconnected;
    await services.stop();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

void main();
