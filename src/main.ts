/** Starts the HTTP process: settings, the servers it lacks, the schema, the application; stops them in reverse. */
import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import type { AppConfig } from './config/app-config';
import { loadConfig } from './config/load-config';
import { createGateway } from './create-gateway';
import { runMigrations } from './database/run-migrations';
import { startEmbeddedServices, type RunningServices } from './embedded/embedded-services';
import { DrainService } from './http/drain.service';
import { JobWorker } from './media-jobs/worker/job-worker.service';
import { createLogger, toNestLogger } from './observability/logger';
import { runProcess } from './process-life';
import { welcome } from './welcome';

async function main(stopSignal: Promise<string>): Promise<void> {
  const config = loadConfig();
  const logger = createLogger({ level: config.logLevel, production: config.production });
  const services = await startEmbeddedServices(config, logger);
  try {
    const app = await startApplication(config, services, logger);
    process.stdout.write(await welcome(app, config));
    logger.info({ signal: await stopSignal }, 'stopping');
    await drain(app, config, logger);
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

/**
 * Requests under way may finish until the deadline; then their connections are closed under them. So may the steps of
 * jobs, which others go on with.
 */
async function drain(app: NestFastifyApplication, config: AppConfig, logger: Logger): Promise<void> {
  const { drainTimeoutMs: timeoutMs } = config.http;
  const [finished] = await Promise.all([
    app.get(DrainService, { strict: false }).drain(timeoutMs),
    config.worker.inline && app.get(JobWorker, { strict: false }).drain(timeoutMs),
  ]);
  if (!finished) logger.warn('requests were still under way at the drain deadline');
  await app.close();
}

runProcess(main);
