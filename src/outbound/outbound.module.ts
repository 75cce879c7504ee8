import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { GuardedClient } from './guarded-client';
import { OutboundClient } from './outbound-client';

/**
 * The one way to addresses that users supply or providers return: images, artifacts, webhooks. Providers themselves are
 * reached through `providers/kit`, at addresses of the operator. Invariant: no socket is opened to an address that was
 * not judged in the same call.
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
