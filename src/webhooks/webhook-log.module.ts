import { Module } from '@nestjs/common';
import { SecretBox } from '../common/secret-box';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { resolveSecretsKeys } from '../embedded/secrets';
import { OutboundModule } from '../outbound/outbound.module';
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
    WebhookLogService,
    WebhookSecretRepository,
    WebhookSecretService,
  ],
  exports: [WebhookLogService, WebhookSecretService],
})
export class WebhookLogModule {}
