import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { SecretBox } from '../core/secrets/secret-box';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { resolveSecretsKeys } from '../core/secrets/service-secrets';
import { OutboundClient } from '../core/outbound/outbound-client';
import { OutboundModule } from '../core/outbound/outbound.module';
import { REDIS } from '../core/redis/redis.module';
import { publishDueDelivery } from './due-delivery.listener';
import { WebhookLogRepository } from './webhook-log.repository';
import { WebhookLogService } from './webhook-log.service';
import { WebhookSecretRepository } from './webhook-secret.repository';
import { WebhookSecretService } from './webhook-secret.service';

/** Webhook secrets and the delivery log, for delivering processes and for the dashboard. */
@Module({
  imports: [OutboundModule],
  providers: [
    {
      provide: SecretBox,
      inject: [APP_CONFIG],
      useFactory: (config: AppConfig) => new SecretBox(resolveSecretsKeys(config)),
    },
    WebhookLogRepository,
    {
      provide: WebhookLogService,
      inject: [WebhookLogRepository, OutboundClient, REDIS],
      useFactory: (repository: WebhookLogRepository, outbound: OutboundClient, redis: Redis) =>
        new WebhookLogService(repository, outbound, () => publishDueDelivery(redis)),
    },
    WebhookSecretRepository,
    WebhookSecretService,
  ],
  exports: [WebhookLogService, WebhookSecretService],
})
export class WebhookLogModule {}
