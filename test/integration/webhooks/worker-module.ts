import { type DynamicModule, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { systemClock } from '../../../src/core/time/clock';
import type { AppConfig } from '../../../src/core/config/app-config';
import { MetricsModule } from '../../../src/core/observability/metrics/metrics.module';
import { TracingModule } from '../../../src/core/observability/traces/tracing.module';
import { ConfigModule } from '../../../src/core/config/config.module';
import { DatabaseModule } from '../../../src/core/database/database.module';
import { RedisModule } from '../../../src/core/redis/redis.module';
import { WebhooksModule } from '../../../src/webhooks/webhooks.module';
import { JobRows } from './webhook-engine';

@Module({
  providers: [
    { provide: JobRows, inject: [DataSource], useFactory: (dataSource: DataSource) => new JobRows(dataSource) },
  ],
  exports: [JobRows],
})
class JobRowsModule {}

/** The smallest application that delivers webhooks. */
@Module({})
export class WorkerModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(config, systemClock),
        MetricsModule,
        TracingModule,
        DatabaseModule,
        RedisModule,
        WebhooksModule.forSource(JobRows, [JobRowsModule]),
      ],
    };
  }
}
