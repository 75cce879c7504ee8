/** Starts the HTTP process: settings, embedded servers, schema, application; stops them in reverse. */
import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import type { AppConfig } from './core/config/app-config';
import { loadConfig } from './core/config/load-config';
import { createGateway } from './create-gateway';
import { ensureSchema } from './core/database/schema-at-start';
import { listen } from './core/http/listen';
import { startEmbeddedServices, type RunningServices } from './core/embedded/embedded-services';
import { DrainService } from './http/availability';
import { ManagementServer } from './http/management-server';
import { withWaitingProbes } from './http/waiting-probes';
import { MediaJobProcessor } from './media-jobs/worker/media-job.processor';
import { logConsole } from './core/observability/console-lines';
import { createLogger, toNestLogger } from './core/observability/logger';
import { Metrics } from './core/observability/metrics/catalogue';
import { countSuppressedLines, StormGuard } from './core/observability/storm-guard';
import { runProcess } from './process-life';
import { welcome } from './welcome';

async function main(stopSignal: Promise<string>): Promise<void> {
  const config = loadConfig();
  const storms = new StormGuard();
  const logger = createLogger({ level: config.logLevel, production: config.production, storms });
  logConsole(logger);
  const services = await startEmbeddedServices(config, logger);
  try {
    const migrate = config.migrateOnStart || config.databaseUrl === null;
    const databaseUrl = config.databaseDirectUrl ?? services.databaseUrl;
    if (await withWaitingProbes(config, () => ensureSchema({ databaseUrl, migrate, logger, stopSignal }))) {
      const app = await startApplication(config, services, logger);
      countSuppressedLines(storms, app.get(Metrics));
      await serve(app, config, logger, stopSignal);
    }
  } finally {
    await services.stop();
    storms.flush();
  }
  logger.info({ event: 'stopped' }, 'stopped');
}

async function serve(
  app: NestFastifyApplication,
  config: AppConfig,
  logger: Logger,
  stopSignal: Promise<string>,
): Promise<void> {
  const management = app.get(ManagementServer, { strict: false });
  try {
    logger.info({ event: 'started', address: await management.start() }, 'started');
    process.stdout.write(await welcome(app, config));
    logger.info({ event: 'stopping', signal: await stopSignal }, 'stopping');
    await drain(app, config, logger);
  } finally {
    await app.close();
    await management.close();
  }
}

async function startApplication(
  config: AppConfig,
  { databaseUrl, redisUrl }: RunningServices,
  logger: Logger,
): Promise<NestFastifyApplication> {
  const app = await createGateway({ ...config, databaseUrl, redisUrl }, toNestLogger(logger));
  try {
    await listen(app, config.http, 'PORT');
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/**
 * Probes first report draining, so that load balancers send new requests elsewhere before any is refused. Requests and
 * job steps in flight may finish until the deadline. Closing the application then ends the connections, and other
 * workers continue the jobs.
 */
async function drain(app: NestFastifyApplication, config: AppConfig, logger: Logger): Promise<void> {
  const { drainTimeoutMs: timeoutMs, shutdownDelayMs } = config.http;
  const service = app.get(DrainService, { strict: false });
  await service.announce(shutdownDelayMs);
  const [finished] = await Promise.all([
    service.drain(timeoutMs),
    config.worker.inline && app.get(MediaJobProcessor, { strict: false }).drain(timeoutMs),
  ]);
  if (!finished) logger.warn({ event: 'drain_deadline_passed' }, 'requests were still in flight at the drain deadline');
}

runProcess(main);
