import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from './app.module';
import { ApiKeyVerifier } from './auth/api-keys/api-key-verifier';
import { type Clock, systemClock } from './core/time/clock';
import type { AppConfig } from './core/config/app-config';
import { createFastifyAdapter } from './core/http/fastify-adapter';
import { LimiterService } from './auth/rate-limits/limiter.service';
import { installRequestPipeline } from './http/request-pipeline';
import { SessionDoor } from './http/session-door';

/** The settings of a process with resolved server URLs: embedded servers are already running. */
export type ConnectedConfig = AppConfig & { readonly databaseUrl: string; readonly redisUrl: string };

/** The whole application, initialised and not yet listening, for `main.ts` and the tests. */
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
