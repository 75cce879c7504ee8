/** A limiter on the test server with keys of its own. */
import { randomUUID } from 'node:crypto';
import { Redis, type RedisOptions } from 'ioredis';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import type { GatewayError } from '../../../src/core/errors/gateway-error';
import type { Principal } from '../../../src/core/types/request-context';
import { NO_LIMITS, type RateLimits } from '../../../src/core/types/rate-limits';
import type { WindowLengths } from '../../../src/auth/rate-limits/limit-check';
import { LimitConnection } from '../../../src/auth/rate-limits/limit-connection';
import { clusterKeys, type LimitKeys, plainKeys } from '../../../src/auth/rate-limits/limit-keys';
import { type LimitedModel, LimitPlanner } from '../../../src/auth/rate-limits/limit-planner';
import { LimiterService, type LimiterTimes, type LimitLease } from '../../../src/auth/rate-limits/limiter.service';
import { createRedis, createRedisClient, type RedisClient } from '../../../src/core/redis/redis-client';
import { createTestRedis, untilReady } from '../../harness/redis';
import type { RedisCluster } from '../../harness/redis-cluster';
import { redisServersOf } from '../../harness/servers';

/** Long enough that nothing ends during a test that does not wait for it. */
const LONG: WindowLengths = { secondMs: 20_000, minuteMs: 60_000 };
/** For tests that wait until a window ends. */
export const SHORT: WindowLengths = { secondMs: 500, minuteMs: 1_500 };

/** A busy machine delays answers. */
const PATIENT = { commandTimeout: 20_000, repeats: false };

export interface BenchOptions {
  readonly url?: string;
  readonly keyPrefix?: string;
  /** Instead of the server of `url`. */
  readonly cluster?: RedisCluster;
  /** Of the limiter's connection. */
  readonly redis?: RedisOptions;
  readonly global?: Partial<RateLimits>;
  readonly lengths?: WindowLengths;
  readonly times?: LimiterTimes;
  readonly clock?: Clock;
}

export interface Trial {
  readonly lease: LimitLease | null;
  readonly error: GatewayError | null;
  readonly headers: Readonly<Record<string, string>> | null;
}

export class LimiterBench {
  private constructor(
    readonly limiter: LimiterService,
    /** For looking at the keys. */
    readonly redis: RedisClient,
    readonly keyPrefix: string,
    private readonly keysOf: LimitKeys,
  ) {}

  static async start(options: BenchOptions = {}): Promise<LimiterBench> {
    const { url, keyPrefix } = { ...createTestRedis(), ...options };
    const settings = {
      global: { ...NO_LIMITS, ...options.global },
      keyDefaults: NO_LIMITS,
      organizationDefaults: NO_LIMITS,
      keyReadsPerSecond: 50,
    };
    const { cluster } = options;
    const servers =
      cluster === undefined ? redisServersOf(url) : { redisSentinels: null, redisCluster: cluster.others };
    const isCluster = servers.redisCluster !== null;
    const open = (redisOptions: RedisOptions = {}): RedisClient =>
      isCluster ? createRedisClient(cluster?.url ?? url, servers, PATIENT) : createRedis(url, redisOptions);
    const connection = open(options.redis);
    await untilReady(connection);
    const limitConnection = new LimitConnection(connection);
    const keysOf = limitConnection.isCluster ? clusterKeys(keyPrefix) : plainKeys(keyPrefix);
    const limiter = new LimiterService(
      new LimitPlanner(settings, keysOf, options.lengths ?? LONG),
      limitConnection,
      options.clock ?? systemClock,
      new Metrics(),
      options.times,
    );
    limiter.onModuleInit();
    const redis = isCluster ? open() : new Redis(url, { disconnectTimeout: 250 }).on('error', () => undefined);
    await untilReady(redis);
    return new LimiterBench(limiter, redis, keyPrefix, keysOf);
  }

  /** Of a limit of its key. */
  keyOf({ keyId, organizationId }: Principal, kind: string): string {
    return `${this.keysOf({ scope: 'key', id: keyId, organizationId })}${kind}`;
  }

  async stop(): Promise<void> {
    await this.limiter.onApplicationShutdown();
    this.redis.disconnect();
  }

  async attempt(principal: Principal, tokens = 1, model: LimitedModel = OPEN_MODEL): Promise<Trial> {
    const context = { rateLimitHeaders: null as Readonly<Record<string, string>> | null };
    try {
      const lease = await this.limiter.admit({ context, principal, model, fallbacks: [], tokens });
      return { lease, error: null, headers: context.rateLimitHeaders };
    } catch (error) {
      return { lease: null, error: error as GatewayError, headers: context.rateLimitHeaders };
    }
  }

  /** How many of `count` requests at once are let in. */
  async admitted(count: number, principal: Principal, tokens = 1, model: LimitedModel = OPEN_MODEL): Promise<number> {
    const trials = await Promise.all(Array.from({ length: count }, () => this.attempt(principal, tokens, model)));
    return trials.filter(({ lease }) => lease !== null).length;
  }
}

export const OPEN_MODEL: LimitedModel = { id: 'mock/open', limits: null };

export function limitedModel(limits: Partial<RateLimits>): LimitedModel {
  return { id: `mock/${randomUUID()}`, limits: { ...NO_LIMITS, ...limits } };
}

export function caller(limits: Partial<RateLimits> = {}, organization: Partial<RateLimits> = {}): Principal {
  return {
    keyId: randomUUID(),
    organizationId: randomUUID(),
    allowedModels: null,
    allowedModalities: null,
    limits: { ...NO_LIMITS, ...limits },
    organizationLimits: { ...NO_LIMITS, ...organization },
  };
}
