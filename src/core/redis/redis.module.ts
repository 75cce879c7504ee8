/**
 * The connection to Redis for every module. It fails fast: requests get their 503 within 300 ms during a Redis outage,
 * so no command waits for a connection. A subscriber needs a separate connection and creates it with
 * `redis.duplicate()`.
 */
import { once } from 'node:events';
import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { APP_CONFIG, type AppConfig } from '../config/app-config';

/** Injection token of the connection for commands. */
export const REDIS = Symbol('Redis');

/** Defaults for connections without process settings. */
const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 1_000;
const FIRST_CONNECTION_TIMEOUT_MS = 2_000;
/** Requests must be admitted again within a second after Redis recovers. */
const LONGEST_RECONNECT_DELAY_MS = 500;

const logger = new Logger('Redis');

/** A connection that starts immediately and reconnects automatically; commands fail while it is down. */
export function createRedis(url: string, options: RedisOptions = {}): Redis {
  const redis = new Redis(url, {
    connectionName: 'gateway',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_RECONNECT_DELAY_MS),
    ...options,
  });
  logChangesOfState(redis);
  return redis;
}

/** One log line per outage and one per recovery, regardless of the retries in between. */
function logChangesOfState(redis: Redis): void {
  let away = false;
  redis.on('error', (error: Error) => {
    if (!away) {
      away = true;
      logger.error({ event: 'redis_away', message: `Redis is away: ${error.message}` });
    }
  });
  redis.on('ready', () => {
    if (away) {
      away = false;
      logger.warn({ event: 'redis_back', message: 'Redis is back' });
    }
  });
}

/** The gateway also starts without Redis and serves the requests that do not need it. */
async function waitForFirstConnection(redis: Redis): Promise<void> {
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
      provide: REDIS,
      inject: [APP_CONFIG],
      useFactory: async ({ redisUrl, redisTimeoutMs }: AppConfig) => {
        if (redisUrl === null) {
          throw new Error('The embedded Redis must be started before the application');
        }
        const redis = createRedis(redisUrl, { commandTimeout: redisTimeoutMs });
        await waitForFirstConnection(redis);
        return redis;
      },
    },
  ],
  exports: [REDIS],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
