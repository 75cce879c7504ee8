/**
 * The connection to Redis for every module. It fails fast: a request must learn within 300 ms that Redis is away
 * (decisions, *Dependencies away*), so no command waits for a connection. A subscriber needs a connection of its own
 * and makes one with `redis.duplicate()`.
 */
import { once } from 'node:events';
import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { APP_CONFIG, type AppConfig } from '../config/app-config';

/** Injection token of the connection for commands. */
export const REDIS = Symbol('Redis');

const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 1_000;
const FIRST_CONNECTION_TIMEOUT_MS = 2_000;
/** Requests must be let in again within a second of Redis' return. */
const LONGEST_RECONNECT_DELAY_MS = 500;

const logger = new Logger('Redis');

/** A connection that starts at once and comes back by itself; commands fail while it is away. */
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

/** One line when Redis goes and one when it comes back, however often the connection is tried in between. */
function logChangesOfState(redis: Redis): void {
  let away = false;
  redis.on('error', (error: Error) => {
    if (!away) {
      away = true;
      logger.error(`Redis is away: ${error.message}`);
    }
  });
  redis.on('ready', () => {
    if (away) {
      away = false;
      logger.warn('Redis is back');
    }
  });
}

/** A gateway starts without Redis too, and then serves what does not need it. */
async function waitForFirstConnection(redis: Redis): Promise<void> {
  const signal = AbortSignal.timeout(FIRST_CONNECTION_TIMEOUT_MS);
  while (redis.status !== 'ready' && !signal.aborted) {
    // `once` also rejects on `error`, which here only means that the next attempt is under way.
    await once(redis, 'ready', { signal }).catch(() => undefined);
  }
}

@Global()
@Module({
  providers: [
    {
      provide: REDIS,
      inject: [APP_CONFIG],
      useFactory: async ({ redisUrl }: AppConfig) => {
        if (redisUrl === null) {
          throw new Error('The embedded Redis has to be started before the application');
        }
        const redis = createRedis(redisUrl);
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
