import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../time/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { GuardedClient } from './guarded-client';
import { OutboundClient } from './outbound-client';

/**
 * The client for URLs from users and providers: images, artifacts, webhooks. Providers themselves are called through
 * `providers/kit`, at configured URLs. Invariant: no socket is opened to an address that was not checked in the same
 * call.
 */
@Module({
  providers: [
    {
      provide: OutboundClient,
      inject: [APP_CONFIG, CLOCK],
      useFactory: ({ outbound }: AppConfig, clock: Clock) => new GuardedClient({ ...outbound, clock }),
    },
  ],
  exports: [OutboundClient],
})
export class OutboundModule {}
