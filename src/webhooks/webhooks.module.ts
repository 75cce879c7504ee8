import { type DynamicModule, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { SecretBox } from '../common/secret-box';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { resolveSecretsKeys } from '../embedded/secrets';
import { OutboundModule } from '../outbound/outbound.module';
import { WebhookAttemptService } from './webhook-attempt.service';
import { WEBHOOK_BODY_SOURCE, type WebhookBodySource } from './webhook-body-source';
import { WebhookDeliveryRepository } from './webhook-delivery.repository';
import { WebhookDeliveryService } from './webhook-delivery.service';
import { WebhookSecretRepository } from './webhook-secret.repository';
import { WebhookSecretService } from './webhook-secret.service';

/** Delivers webhooks for as long as the application runs: for processes that do work (`README.md`). */
@Module({})
export class WebhooksModule {
  /** @param source what tells the bodies, a provider that the `imports` export */
  static forSource(source: Type<WebhookBodySource>, imports: ModuleMetadata['imports'] = []): DynamicModule {
    return {
      module: WebhooksModule,
      imports: [OutboundModule, ...imports],
      providers: [
        { provide: WEBHOOK_BODY_SOURCE, useExisting: source },
        {
          provide: SecretBox,
          inject: [APP_CONFIG],
          useFactory: (config: AppConfig) => new SecretBox(resolveSecretsKeys(config)),
        },
        WebhookSecretRepository,
        WebhookSecretService,
        WebhookDeliveryRepository,
        WebhookAttemptService,
        WebhookDeliveryService,
      ],
      exports: [WebhookDeliveryService],
    };
  }
}
