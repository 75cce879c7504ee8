/** Starts a worker, which runs video and music jobs and answers probes. Any number of workers can run. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { systemClock } from './core/time/clock';
import type { AppConfig } from './core/config/app-config';
import { ConfigurationError, loadConfig } from './core/config/load-config';
import type { ConnectedConfig } from './create-gateway';
import { ensureSchema } from './core/database/schema-at-start';
import { readLiveServices } from './core/embedded/services-file';
import { DrainService } from './http/availability';
import { ManagementServer } from './http/management-server';
import { listen } from './core/http/listen';
import { createFastifyAdapter } from './core/http/fastify-adapter';
import { serveOnlyPublicRoutes } from './http/public-routes-only';
import { withWaitingProbes } from './http/waiting-probes';
import { MediaJobProcessor } from './media-jobs/worker/media-job.processor';
import { logConsole } from './core/observability/console-lines';
import { createLogger, toNestLogger } from './core/observability/logger';
import { Metrics } from './core/observability/metrics/catalogue';
import { countSuppressedLines, StormGuard } from './core/observability/storm-guard';
import { runProcess } from './process-life';
import { WorkerModule } from './worker.module';

async function main(stopSignal: Promise<string>): Promise<void> {
  const config = connect(loadConfig());
  const storms = new StormGuard();
  const logger = createLogger({ level: config.logLevel, production: config.production, storms });
  logConsole(logger);
  const { migrateOnStart: migrate } = config;
  const databaseUrl = config.databaseDirectUrl ?? config.databaseUrl;
  try {
    const isCurrent = await withWaitingProbes(config, () => ensureSchema({ databaseUrl, migrate, logger, stopSignal }));
    if (isCurrent) await work(config, logger, storms, stopSignal);
  } finally {
    storms.flush();
  }
  logger.info({ event: 'stopped' }, 'stopped');
}

async function work(
  config: ConnectedConfig,
  logger: Logger,
  storms: StormGuard,
  stopSignal: Promise<string>,
): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(
    WorkerModule.forRoot(config, systemClock),
    createFastifyAdapter(config, systemClock),
    { bodyParser: false, logger: toNestLogger(logger), abortOnError: false },
  );
  serveOnlyPublicRoutes(app);
  countSuppressedLines(storms, app.get(Metrics));
  const management = app.get(ManagementServer, { strict: false });
  try {
    // Separate from `listen`, which reports every failure as a problem with the address.
    await app.init();
    await listen(app, { host: config.http.host, port: config.worker.port }, 'WORKER_PORT');
    logger.info({ event: 'started', address: await management.start() }, 'started');
    process.stdout.write(`\nThe worker answers probes on ${await app.getUrl()}\n\n`);
    logger.info({ event: 'stopping', signal: await stopSignal }, 'stopping');
    const { drainTimeoutMs } = config.http;
    // Draining makes the probes report not ready.
    await Promise.all([app.get(DrainService).drain(drainTimeoutMs), app.get(MediaJobProcessor).drain(drainTimeoutMs)]);
  } finally {
    await app.close();
    await management.close();
  }
}

/**
 * Uses the configured servers, else those of a gateway with the same data directory: a worker starts none itself.
 * @throws ConfigurationError
 */
function connect(config: AppConfig): ConnectedConfig {
  const live = readLiveServices(config.dataDir);
  const databaseUrl = config.databaseUrl ?? live?.databaseUrl ?? null;
  const redisUrl = config.redisUrl ?? live?.redisUrl ?? null;
  const problems: string[] = [];
  if (databaseUrl === null || redisUrl === null) {
    problems.push('DATABASE_URL or REDIS_URL is not set, and no gateway runs embedded servers on this DATA_DIR');
  }
  if (config.storage.backend.type === 'local' && config.http.publicBaseUrl === null) {
    problems.push(
      'PUBLIC_BASE_URL is not set: the gateway serves local outputs, and a worker needs its URL ' +
        'to name them in webhooks',
    );
  }
  if (databaseUrl === null || redisUrl === null || problems.length > 0) throw new ConfigurationError(problems);
  return { ...config, databaseUrl, redisUrl };
}

runProcess(main);
