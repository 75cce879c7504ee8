import { Module } from '@nestjs/common';
import { AttemptThrottle } from './attempt-throttle';

/** Limits attempts of callers without an API key. */
@Module({ providers: [AttemptThrottle], exports: [AttemptThrottle] })
export class AttemptsModule {}
