import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { createRedis } from '../redis/redis.module';
import { LimitConnection } from './limit-connection';
import { LimitPlanner } from './limit-planner';
import { LimiterService } from './limiter.service';

/** What this gateway has in Redis is its own, also where others use the same server. */
const KEY_PREFIX = 'gateway:limit:';

/** How fast requests may come (README of this folder). */
@Module({
  providers: [
    {
      provide: LimiterService,
      inject: [APP_CONFIG, CLOCK],
      useFactory: ({ redisUrl, limits }: AppConfig, clock: Clock): LimiterService => {
        if (redisUrl === null) throw new Error('The embedded Redis has to be started before the application');
        const connection = new LimitConnection(createRedis(redisUrl, { connectionName: 'gateway limits' }));
        return new LimiterService(new LimitPlanner(limits, KEY_PREFIX), connection, clock);
      },
    },
  ],
  exports: [LimiterService],
})
export class LimitsModule {}
