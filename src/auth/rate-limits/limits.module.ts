import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { createRedisClient } from '../../core/redis/redis-client';
import { DEPLOYMENT_KEY_PREFIX } from '../../core/redis/redis.module';
import { LimitConnection } from './limit-connection';
import { clusterKeys, plainKeys } from './limit-keys';
import { LimitPlanner } from './limit-planner';
import { LimiterService } from './limiter.service';

/** Appended to the key prefix of the deployment. */
const KEY_PREFIX = 'gateway:limit:';

/** Rate limits (README of this folder). */
@Module({
  providers: [
    {
      provide: LimiterService,
      inject: [APP_CONFIG, CLOCK, Metrics, DEPLOYMENT_KEY_PREFIX],
      useFactory: (config: AppConfig, clock: Clock, metrics: Metrics, keyPrefix: string): LimiterService => {
        const { redisUrl, redisTimeoutMs, limits } = config;
        if (redisUrl === null) throw new Error('The embedded Redis must be started before the application');
        const redis = createRedisClient(redisUrl, config, {
          keyPrefix,
          connectionName: 'gateway limits',
          commandTimeout: redisTimeoutMs,
          repeats: false,
        });
        const connection = new LimitConnection(redis);
        const planner = new LimitPlanner(
          limits,
          connection.isCluster ? clusterKeys(KEY_PREFIX) : plainKeys(KEY_PREFIX),
        );
        return new LimiterService(planner, connection, clock, metrics);
      },
    },
  ],
  exports: [LimiterService],
})
export class LimitsModule {}
