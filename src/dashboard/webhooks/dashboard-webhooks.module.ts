import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module';
import { WebhookLogModule } from '../../webhooks/webhook-log.module';
import { WebhookDeliveriesController } from './webhook-deliveries.controller';
import { WebhookSecretController } from './webhook-secret.controller';

/** Secret, deliveries and tests of an organization's webhooks. */
@Module({
  imports: [AccountsModule, WebhookLogModule],
  controllers: [WebhookSecretController, WebhookDeliveriesController],
})
export class DashboardWebhooksModule {}
