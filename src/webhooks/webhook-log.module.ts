import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { SecretsModule } from '../core/secrets/secrets.module';
import { OutboundModule } from '../core/outbound/outbound.module';
import { QueueModule } from '../core/queue/queue.module';
import { WebhookLogRepository } from './webhook-log.repository';
import { WebhookLogService } from './webhook-log.service';
import { WebhookSecretCheck } from './webhook-secret-check';
import { WebhookSecretRepository } from './webhook-secret.repository';
import { WebhookSecretService } from './webhook-secret.service';
import { WEBHOOK_QUEUE, WebhookWakeUps } from './webhook-wake-ups';

/** Webhook secrets and the delivery log, for delivering processes and for the dashboard. */
@Module({
  imports: [BullModule.registerQueue({ name: WEBHOOK_QUEUE }), OutboundModule, QueueModule, SecretsModule],
  providers: [
    WebhookLogRepository,
    WebhookLogService,
    WebhookSecretCheck,
    WebhookSecretRepository,
    WebhookSecretService,
    WebhookWakeUps,
  ],
  exports: [WebhookLogService, WebhookSecretService, WebhookWakeUps],
})
export class WebhookLogModule {}
