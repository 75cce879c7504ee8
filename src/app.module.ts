import { type DynamicModule, Module } from '@nestjs/common';
import { AudioModule } from './audio/audio.module';
import { AuthModule } from './auth/auth.module';
import { BillingModule } from './billing/billing.module';
import { ChatModule } from './chat/chat.module';
import type { Clock } from './core/time/clock';
import { CompletionsModule } from './chat/completions/completions.module';
import type { AppConfig } from './core/config/app-config';
import { ConfigModule } from './core/config/config.module';
import { CredentialsModule } from './models/credentials/credentials.module';
import { DashboardModule } from './dashboard/dashboard.module';
import { DatabaseModule } from './core/database/database.module';
import { EmbeddingsModule } from './chat/embeddings/embeddings.module';
import { HttpModule } from './http/http.module';
import { ImagesModule } from './images/images.module';
import { MediaJobsModule } from './media-jobs/media-jobs.module';
import { JobWorkerModule } from './media-jobs/worker/job-worker.module';
import { MetricsModule } from './core/observability/metrics/metrics.module';
import { TracingModule } from './core/observability/traces/tracing.module';
import { LedgerArchiveModule } from './billing/ledger/ledger-archive.module';
import { ModelsModule } from './models/models.module';
import { OrganizationsModule } from './dashboard/organizations/organizations.module';
import { PROVIDER_MODULES } from './provider-modules';
import { RequestPathModule } from './http/request-path';
import { RedisModule } from './core/redis/redis.module';
import { ResponsesModule } from './responses/responses.module';

/** The composition root of the API process. */
@Module({})
export class AppModule {
  static forRoot(config: AppConfig, clock: Clock): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config, clock),
        MetricsModule,
        TracingModule,
        DatabaseModule,
        RedisModule,
        ...PROVIDER_MODULES,
        CredentialsModule,
        AuthModule,
        BillingModule,
        LedgerArchiveModule,
        ModelsModule,
        OrganizationsModule,
        ChatModule,
        CompletionsModule,
        EmbeddingsModule,
        ImagesModule,
        ResponsesModule,
        AudioModule,
        MediaJobsModule,
        ...(config.worker.inline ? [JobWorkerModule] : []),
        DashboardModule,
        HttpModule,
        RequestPathModule,
      ],
    };
  }
}
