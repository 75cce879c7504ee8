/**
 * The connection to Redis for every module. It fails fast: requests get their 503 within 300 ms during a Redis outage,
 * so no command waits for a connection. A subscriber needs a separate connection and creates it with
 * `redis.duplicate()`.
 */
import { once } from 'node:events';
import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { readDeploymentId } from './deployment-identity';

/** Injection token of the connection for commands. */
export const REDIS = Symbol('Redis');
/** Injection token of the prefix of all keys of this deployment (deployment-identity.ts). */
export const DEPLOYMENT_KEY_PREFIX = Symbol('DeploymentKeyPrefix');

/** Defaults for connections without process settings. */
const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 1_000;
const FIRST_CONNECTION_TIMEOUT_MS = 2_000;
/** Requests must be admitted again within a second after Redis recovers. */
const LONGEST_RECONNECT_DELAY_MS = 500;

const logger = new Logger('Redis');

/** Options of a client whose primary is found through sentinels; none otherwise. */
export function sentinelOptions({
  redisUrl,
  redisSentinels,
}: Pick<AppConfig, 'redisUrl' | 'redisSentinels'>): RedisOptions {
  if (redisUrl === null || redisSentinels === null) return {};
  const { hostname, protocol } = new URL(redisUrl);
  const hasTls = protocol === 'rediss:';
  return {
    name: hostname,
    sentinels: redisSentinels.map(({ host, port }) => ({ host, port })),
    sentinelUsername: redisSentinels[0]?.username ?? undefined,
    sentinelPassword: redisSentinels[0]?.password ?? undefined,
    ...(hasTls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    sentinelRetryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_RECONNECT_DELAY_MS),
    // Ends connections to a primary that was replaced but still holds its sockets open.
    failoverDetector: true,
  };
}

/**
 * The server has executed nothing: it was demoted to a replica, or loads its data. Managed servers do both with the socket
 * open, and only a new connection reaches the primary. A script names the cause after its own position.
 */
export function isNotPrimary(error: unknown): boolean {
  return error instanceof Error && /\b(?:READONLY|LOADING|MASTERDOWN) /.test(error.message);
}

/** `ioredis` prefixes keys only; channels belong to one deployment too. */
export class PrefixedRedis extends Redis {
  override publish(...[channel, ...rest]: Parameters<Redis['publish']>): Promise<number> {
    return super.publish(`${this.options.keyPrefix ?? ''}${String(channel)}`, ...rest);
  }
}

/** A connection that starts immediately and reconnects automatically; commands fail while it is down. */
export function createRedis(url: string, options: RedisOptions = {}): Redis {
  const redis = new PrefixedRedis(url, {
    connectionName: 'gateway',
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_RECONNECT_DELAY_MS),
    reconnectOnError: isNotPrimary,
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
        const redis = createRedis(redisUrl, { ...sentinelOptions(config), keyPrefix, commandTimeout: redisTimeoutMs });
        await waitForFirstConnection(redis);
        return redis;
      },
    },
  ],
  exports: [REDIS, DEPLOYMENT_KEY_PREFIX],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
