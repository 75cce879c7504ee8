/**
 * The connection to Redis for every module. It fails fast: requests get their 503 within 300 ms during a Redis outage,
 * so no command waits for a connection. Subscribers have separate connections (`RedisSubscription`).
 */
import { once } from 'node:events';
import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { readDeploymentId } from './deployment-identity';
import { createRedisClient, type RedisClient } from './redis-client';

/** Injection token of the connection for commands. */
export const REDIS = Symbol('Redis');
/** Injection token of the prefix of all keys of this deployment (deployment-identity.ts). */
export const DEPLOYMENT_KEY_PREFIX = Symbol('DeploymentKeyPrefix');

const FIRST_CONNECTION_TIMEOUT_MS = 2_000;

/** The gateway also starts without Redis and serves the requests that do not need it. */
async function waitForFirstConnection(redis: RedisClient): Promise<void> {
  const signal = AbortSignal.timeout(FIRST_CONNECTION_TIMEOUT_MS);
  while (redis.status !== 'ready' && !signal.aborted) {
    // `once` also rejects on `error`, which here only means another connection attempt.
    await once(redis, 'ready', { signal }).catch(() => undefined);
  }
}

@Global()
@Module({
  providers: [
    {
      provide: DEPLOYMENT_KEY_PREFIX,
      inject: [DataSource],
      useFactory: async (dataSource: DataSource) => `${await readDeploymentId(dataSource)}:`,
    },
    {
      provide: REDIS,
      inject: [APP_CONFIG, DEPLOYMENT_KEY_PREFIX],
      useFactory: async (config: AppConfig, keyPrefix: string) => {
        const { redisUrl, redisTimeoutMs } = config;
        if (redisUrl === null) {
          throw new Error('The embedded Redis must be started before the application');
        }
        const redis = createRedisClient(redisUrl, config, { keyPrefix, commandTimeout: redisTimeoutMs });
        await waitForFirstConnection(redis);
        return redis;
      },
    },
  ],
  exports: [REDIS, DEPLOYMENT_KEY_PREFIX],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: RedisClient) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
