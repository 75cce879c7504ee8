import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { createRedis, DEPLOYMENT_KEY_PREFIX, sentinelOptions } from '../../core/redis/redis.module';
import { LimitConnection } from './limit-connection';
import { LimiterService, LimitPlanner } from './limiter.service';

/** Follows the prefix of the deployment. */
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
        const options = {
          ...sentinelOptions(config),
          keyPrefix,
          connectionName: 'gateway limits',
          commandTimeout: redisTimeoutMs,
        };
        const connection = new LimitConnection(createRedis(redisUrl, options));
        return new LimiterService(new LimitPlanner(limits, KEY_PREFIX), connection, clock, metrics);
      },
    },
  ],
  exports: [LimiterService],
})
export class LimitsModule {}
