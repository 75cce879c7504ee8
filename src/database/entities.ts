import { ApiKeyEntity } from './entities/api-key.entity';
import { DeploymentEntity } from './entities/deployment.entity';
import { GatewayInstanceEntity } from './entities/gateway-instance.entity';
import { IdempotencyBodyEntity } from './entities/idempotency-body.entity';
import { IdempotencyRecordEntity } from './entities/idempotency-record.entity';
import { IdempotencyStorageEntity } from './entities/idempotency-storage.entity';
import { LedgerEntryEntity } from './entities/ledger-entry.entity';
import { MediaArtifactEntity } from './entities/media-artifact.entity';
import { MediaJobEntity } from './entities/media-job.entity';
import { ModelEntity } from './entities/model.entity';
import { OrganizationAccountEntity } from './entities/organization-account.entity';
import { OrganizationWebhookSecretEntity } from './entities/organization-webhook-secret.entity';
import { OrganizationEntity } from './entities/organization.entity';
import { PriceVersionEntity } from './entities/price-version.entity';
import { ReservationEntity } from './entities/reservation.entity';
import { SpendWindowEntity } from './entities/spend-window.entity';
import { StoredObjectEntity } from './entities/stored-object.entity';
import { UsageRecordEntity } from './entities/usage-record.entity';
import { WebhookAttemptEntity } from './entities/webhook-attempt.entity';
import { WebhookDeliveryEntity } from './entities/webhook-delivery.entity';

/** Every entity. An explicit list keeps the build free of globs, and its spec checks it against the folder. */
export const ENTITIES: readonly (new () => object)[] = [
  ApiKeyEntity,
  DeploymentEntity,
  GatewayInstanceEntity,
  IdempotencyBodyEntity,
  IdempotencyRecordEntity,
  IdempotencyStorageEntity,
  LedgerEntryEntity,
  MediaArtifactEntity,
  MediaJobEntity,
  ModelEntity,
  OrganizationAccountEntity,
  OrganizationEntity,
  OrganizationWebhookSecretEntity,
  PriceVersionEntity,
  ReservationEntity,
  SpendWindowEntity,
  StoredObjectEntity,
  UsageRecordEntity,
  WebhookAttemptEntity,
  WebhookDeliveryEntity,
];
