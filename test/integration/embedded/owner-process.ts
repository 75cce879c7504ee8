/**
 * A gateway reduced to its services, for tests that kill it: `owner-process.ts <dataDir> [attach]`. Reports its URLs,
 * or why it cannot start, and stops on SIGTERM, on SIGINT, and when the test that started it is gone.
 */
import pino from 'pino';
import { attachEmbeddedServices, startEmbeddedServices } from '../../../src/core/embedded/embedded-services';

async function main(): Promise<void> {
  const [dataDir = '', mode] = process.argv.slice(2);
  const startServices = mode === 'attach' ? attachEmbeddedServices : startEmbeddedServices;
  const stopRequested = new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
    process.once('disconnect', resolve);
  });
  const settings = { dataDir, databaseUrl: null, redisUrl: null };
  const services = await startServices(settings, pino({ level: 'silent' }));
  process.send?.({ databaseUrl: services.databaseUrl, redisUrl: services.redisUrl });
  await stopRequested;
  await services.stop();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.send?.({ error: String(error) });
    process.exitCode = 1;
    process.disconnect();
  },
);
