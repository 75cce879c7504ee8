import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from './app.module';
import { ApiKeyVerifier } from './auth/api-key-verifier';
import { type Clock, systemClock } from './common/clock';
import type { AppConfig } from './config/app-config';
import { createFastifyAdapter } from './http/fastify-adapter';
import { LimiterService } from './limits/limiter.service';
import { installRequestPipeline } from './http/request-pipeline';
import { SessionDoor } from './http/session-door';

/** The settings of a process whose servers are known: embedded ones have been started by now. */
export type ConnectedConfig = AppConfig & { readonly databaseUrl: string; readonly redisUrl: string };

/** The whole application, initialised and not yet listening: what `main.ts` runs and the tests run. */
export async function createGateway(
  config: ConnectedConfig,
  logger: LoggerService | false,
  clock: Clock = systemClock,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, clock),
    createFastifyAdapter(config, () => clock.now()),
    { bodyParser: false, logger, abortOnError: false },
  );
  installRequestPipeline(
    app,
    app.get(ApiKeyVerifier),
    app.get(LimiterService, { strict: false }),
    app.get(SessionDoor, { strict: false }),
    clock,
    config.http,
  );
  await app.init();
  return app;
}
