import { type DynamicModule, Module } from '@nestjs/common';
import { BillingModule } from './billing/billing.module';
import type { Clock } from './common/clock';
import type { AppConfig } from './config/app-config';
import { ConfigModule } from './config/config.module';
import { CredentialsModule } from './credentials/credentials.module';
import { DatabaseModule } from './database/database.module';
import { ProbesModule } from './http/probes.module';
import { JobWorkerModule } from './media-jobs/worker/job-worker.module';
import { ModelsModule } from './models/models.module';
import { ProvidersModule } from './providers/providers.module';
import { RedisModule } from './redis/redis.module';

/** The composition root of a process that works on jobs and serves nobody. */
@Module({})
export class WorkerModule {
  static forRoot(config: AppConfig, clock: Clock): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(config, clock),
        DatabaseModule,
        RedisModule,
        ProvidersModule,
        CredentialsModule,
        BillingModule,
        ModelsModule,
        JobWorkerModule,
        ProbesModule,
      ],
    };
  }
}
