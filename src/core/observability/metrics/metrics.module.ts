import { Global, Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { Metrics } from './catalogue';
import { ProcessMetrics } from './process-metrics';

/** Gives every module the metrics of this process. */
@Global()
@Module({
  providers: [
    {
      provide: Metrics,
      inject: [APP_CONFIG],
      useFactory: ({ management }: AppConfig) => new Metrics({ commit: management.commit }),
    },
  ],
  exports: [Metrics],
})
export class MetricsModule implements OnModuleInit, OnModuleDestroy {
  private readonly ofProcess: ProcessMetrics;

  constructor(metrics: Metrics) {
    this.ofProcess = new ProcessMetrics(metrics);
  }

  onModuleInit(): void {
    this.ofProcess.start();
  }

  onModuleDestroy(): void {
    this.ofProcess.stop();
  }
}
