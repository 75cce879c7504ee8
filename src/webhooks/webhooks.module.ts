import { type DynamicModule, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { OutboundModule } from '../core/outbound/outbound.module';
import { QueueModule } from '../core/queue/queue.module';
import { SchedulingModule } from '../core/scheduling/scheduling.module';
import { WebhookAttemptService } from './webhook-attempt.service';
import { WEBHOOK_BODY_SOURCE, type WebhookBodySource } from './webhook-body-source';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';
import { WebhookDeliveryService } from './webhook-delivery.service';
import { WebhookLogModule } from './webhook-log.module';
import { WebhookSweeps } from './webhook-sweeps';
import { WebhookProcessor } from './webhook.processor';

/** Delivers webhooks while the application runs, in worker processes (`README.md`). */
@Module({})
export class WebhooksModule {
  /** @param source builds the bodies; a provider that the `imports` export */
  static forSource(source: Type<WebhookBodySource>, imports: ModuleMetadata['imports'] = []): DynamicModule {
    return {
      module: WebhooksModule,
      imports: [OutboundModule, QueueModule, SchedulingModule, WebhookLogModule, ...imports],
      providers: [
        { provide: WEBHOOK_BODY_SOURCE, useExisting: source },
        WebhookDeliveryRepository,
        WebhookAttemptService,
        WebhookDeliveryService,
        WebhookProcessor,
        WebhookSweeps,
      ],
      exports: [WebhookDeliveryService],
    };
  }
}
