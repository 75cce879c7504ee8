import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { CLOCK, type Clock } from '../../time/clock';
import { Metrics } from '../metrics/catalogue';
import { Tracing } from './tracing';

/** Gives every module the traces of this process. */
@Global()
@Module({
  providers: [
    {
      provide: Tracing,
      inject: [APP_CONFIG, Metrics, CLOCK],
      useFactory: (config: AppConfig, metrics: Metrics, clock: Clock) => Tracing.connect(config, metrics, clock),
    },
  ],
  exports: [Tracing],
})
export class TracingModule implements OnApplicationShutdown {
  constructor(private readonly tracing: Tracing) {}

  /** Global modules are closed last, so the last requests have ended. */
  onApplicationShutdown(): Promise<void> {
    return this.tracing.flush();
  }
}
