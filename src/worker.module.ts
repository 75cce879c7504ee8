import { type DynamicModule, Module } from '@nestjs/common';
import { BillingModule } from './billing/billing.module';
import type { Clock } from './core/time/clock';
import type { AppConfig } from './core/config/app-config';
import { ConfigModule } from './core/config/config.module';
import { CredentialsModule } from './models/credentials/credentials.module';
import { DatabaseModule } from './core/database/database.module';
import { ProbesModule } from './http/probes.module';
import { JobWorkerModule } from './media-jobs/worker/job-worker.module';
import { MetricsModule } from './core/observability/metrics/metrics.module';
import { TracingModule } from './core/observability/traces/tracing.module';
import { LedgerArchiveModule } from './billing/ledger/ledger-archive.module';
import { ModelsModule } from './models/models.module';
import { PROVIDER_MODULES } from './provider-modules';
import { RedisModule } from './core/redis/redis.module';

/** The composition root of a worker process, which runs jobs and serves no API. */
@Module({})
export class WorkerModule {
  static forRoot(config: AppConfig, clock: Clock): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(config, clock),
        MetricsModule,
        TracingModule,
        DatabaseModule,
        RedisModule,
        ...PROVIDER_MODULES,
        CredentialsModule,
        BillingModule,
        LedgerArchiveModule,
        ModelsModule,
        JobWorkerModule,
        ProbesModule,
      ],
    };
  }
}
