import { Module } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { REDIS } from '../../core/redis/redis.module';
import { CLOCK, type Clock } from '../../core/time/clock';
import { AttemptThrottle } from './attempt-throttle';

/** Limits attempts of callers without an API key. */
@Module({
  providers: [
    {
      provide: AttemptThrottle,
      inject: [REDIS, CLOCK],
      useFactory: (redis: RedisClient, clock: Clock) => new AttemptThrottle(redis, clock),
    },
  ],
  exports: [AttemptThrottle],
})
export class AttemptsModule {}
