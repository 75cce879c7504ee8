import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { createRedis, sentinelOptions } from '../../core/redis/redis.module';
import { LimitConnection } from './limit-connection';
import { LimiterService, LimitPlanner } from './limiter.service';

/** A prefix separates this gateway's keys from those of other users of the same Redis server. */
const KEY_PREFIX = 'gateway:limit:';

/** Rate limits (README of this folder). */
@Module({
  providers: [
    {
      provide: LimiterService,
      inject: [APP_CONFIG, CLOCK, Metrics],
      useFactory: (config: AppConfig, clock: Clock, metrics: Metrics): LimiterService => {
        const { redisUrl, redisTimeoutMs, limits } = config;
        if (redisUrl === null) throw new Error('The embedded Redis must be started before the application');
        const options = {
          ...sentinelOptions(config),
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
