import { type DynamicModule, Module } from '@nestjs/common';
import { AudioModule } from './audio/audio.module';
import { AuthModule } from './auth/auth.module';
import { BillingModule } from './billing/billing.module';
import { ChatModule } from './chat/chat.module';
import type { Clock } from './common/clock';
import { CompletionsModule } from './completions/completions.module';
import type { AppConfig } from './config/app-config';
import { ConfigModule } from './config/config.module';
import { CredentialsModule } from './credentials/credentials.module';
import { DashboardModule } from './dashboard/dashboard.module';
import { DatabaseModule } from './database/database.module';
import { EmbeddingsModule } from './embeddings/embeddings.module';
import { HttpModule } from './http/http.module';
import { ImagesModule } from './images/images.module';
import { MediaJobsModule } from './media-jobs/media-jobs.module';
import { JobWorkerModule } from './media-jobs/worker/job-worker.module';
import { ModelsModule } from './models/models.module';
import { OrganizationsModule } from './organizations/organizations.module';
import { ProvidersModule } from './providers/providers.module';
import { RedisModule } from './redis/redis.module';
import { ResponsesModule } from './responses/responses.module';

/** The composition root: lists the modules, does nothing else. */
@Module({})
export class AppModule {
  static forRoot(config: AppConfig, clock: Clock): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config, clock),
        DatabaseModule,
        RedisModule,
        ProvidersModule,
        CredentialsModule,
        AuthModule,
        BillingModule,
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
      ],
    };
  }
}
