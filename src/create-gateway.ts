import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from './app.module';
import { type Clock, systemClock } from './core/time/clock';
import type { AppConfig } from './core/config/app-config';
import { createFastifyAdapter } from './core/http/fastify-adapter';

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
    createFastifyAdapter(config, clock),
    { bodyParser: false, logger, abortOnError: false },
  );
  await app.init();
  return app;
}
