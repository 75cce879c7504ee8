import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { SecretBox } from '../common/secret-box';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { resolveSecretsKeys } from '../embedded/secrets';
import { OutboundClient } from '../outbound/outbound-client';
import { OutboundModule } from '../outbound/outbound.module';
import { REDIS } from '../redis/redis.module';
import { publishDueDelivery } from './due-delivery.listener';
import { WebhookLogRepository } from './webhook-log.repository';
import { WebhookLogService } from './webhook-log.service';
import { WebhookSecretRepository } from './webhook-secret.repository';
import { WebhookSecretService } from './webhook-secret.service';

/** Secrets and the delivery log: for processes that deliver, and for those in which people look at both. */
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
