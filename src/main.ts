/** Starts the HTTP process: settings, the servers it lacks, the schema, the application; stops them in reverse. */
import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import type { AppConfig } from './config/app-config';
import { ConfigurationError, loadConfig } from './config/load-config';
import { createGateway } from './create-gateway';
import { runMigrations } from './database/run-migrations';
import { startEmbeddedServices, type RunningServices } from './embedded/embedded-services';
import { DataDirectoryInUseError } from './embedded/services-file';
import { DrainService } from './http/drain.service';
import { CatalogError } from './models/load-catalog';
import { createLogger, toNestLogger } from './observability/logger';
import { welcome } from './welcome';

async function main(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger({ level: config.logLevel, production: config.production });
  const stopRequested = waitForStopSignal();
  const services = await startEmbeddedServices(config, logger);
  try {
    const app = await startApplication(config, services, logger);
    process.stdout.write(await welcome(app, config));
    logger.info({ signal: await stopRequested }, 'stopping');
    await drain(app, config.http.drainTimeoutMs, logger);
  } finally {
    await services.stop();
  }
  logger.info('stopped');
}

async function startApplication(
  config: AppConfig,
  { databaseUrl, redisUrl }: RunningServices,
  logger: Logger,
): Promise<NestFastifyApplication> {
  await runMigrations(databaseUrl);
  const app = await createGateway({ ...config, databaseUrl, redisUrl }, toNestLogger(logger));
  try {
    await app.listen({ port: config.http.port, host: config.http.host });
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/** Requests under way may finish until the deadline; then their connections are closed under them. */
async function drain(app: NestFastifyApplication, timeoutMs: number, logger: Logger): Promise<void> {
  const finished = await app.get(DrainService, { strict: false }).drain(timeoutMs);
  if (!finished) logger.warn('requests were still under way at the drain deadline');
  await app.close();
}

function waitForStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(signal));
  });
}

/** What the operator has to change needs no stack. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const ours = [ConfigurationError, CatalogError, DataDirectoryInUseError].some((kind) => error instanceof kind);
  // A port that is taken, a server that cannot be reached: the system's own words say it.
  return ours || 'syscall' in error ? error.message : (error.stack ?? error.message);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${describeFailure(error)}\n`);
    process.exit(1);
  },
);
