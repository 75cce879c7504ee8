import { ApiKeyEntity } from './entities/api-key.entity';
import { AuditEntryEntity } from './entities/audit-entry.entity';
import { BillingSettingsEntity } from './entities/billing-settings.entity';
import { DeploymentEntity } from './entities/deployment.entity';
import { EarlyDisputeEntity } from './entities/early-dispute.entity';
import { GatewayInstanceEntity } from './entities/gateway-instance.entity';
import { IdempotencyBodyEntity } from './entities/idempotency-body.entity';
import { IdempotencyRecordEntity } from './entities/idempotency-record.entity';
import { IdempotencySealEntity } from './entities/idempotency-seal.entity';
import { IdempotencyStorageEntity } from './entities/idempotency-storage.entity';
import { LedgerAuditEntity } from './entities/ledger-audit.entity';
import { LedgerEntryEntity } from './entities/ledger-entry.entity';
import { MediaArtifactEntity } from './entities/media-artifact.entity';
import { MediaJobEntity } from './entities/media-job.entity';
import { ModelEntity } from './entities/model.entity';
import { OrganizationAccountEntity } from './entities/organization-account.entity';
import { OrganizationInvitationEntity } from './entities/organization-invitation.entity';
import { OrganizationMemberEntity } from './entities/organization-member.entity';
import { OrganizationWebhookSecretEntity } from './entities/organization-webhook-secret.entity';
import { OrganizationEntity } from './entities/organization.entity';
import { PaymentEventEntity } from './entities/payment-event.entity';
import { PaymentRefundEntity } from './entities/payment-refund.entity';
import { PriceVersionEntity } from './entities/price-version.entity';
import { ProviderCredentialEntity } from './entities/provider-credential.entity';
import { PurchaseEntity } from './entities/purchase.entity';
import { ReceiptHistoryEntity } from './entities/receipt-history.entity';
import { ReservationEntity } from './entities/reservation.entity';
import { SpendWindowEntity } from './entities/spend-window.entity';
import { StoredObjectEntity } from './entities/stored-object.entity';
import { UsageByKeyEntity } from './entities/usage-by-key.entity';
import { UsageByModelEntity } from './entities/usage-by-model.entity';
import { UsageRecordEntity } from './entities/usage-record.entity';
import { UserAccountEntity } from './entities/user-account.entity';
import { UserSessionEntity } from './entities/user-session.entity';
import { UserTokenEntity } from './entities/user-token.entity';
import { WebhookAttemptEntity } from './entities/webhook-attempt.entity';
import { WebhookDeliveryEntity } from './entities/webhook-delivery.entity';

/** Every entity. An explicit list keeps the build free of globs, and its spec checks it against the folder. */
export const ENTITIES: readonly (new () => object)[] = [
  ApiKeyEntity,
  AuditEntryEntity,
  BillingSettingsEntity,
  DeploymentEntity,
  GatewayInstanceEntity,
  IdempotencyBodyEntity,
  IdempotencyRecordEntity,
  IdempotencySealEntity,
  IdempotencyStorageEntity,
  LedgerAuditEntity,
  LedgerEntryEntity,
  MediaArtifactEntity,
  MediaJobEntity,
  ModelEntity,
  OrganizationAccountEntity,
  OrganizationEntity,
  OrganizationInvitationEntity,
  OrganizationMemberEntity,
  OrganizationWebhookSecretEntity,
  EarlyDisputeEntity,
  PaymentEventEntity,
  PaymentRefundEntity,
  PriceVersionEntity,
  ProviderCredentialEntity,
  PurchaseEntity,
  ReceiptHistoryEntity,
  ReservationEntity,
  SpendWindowEntity,
  StoredObjectEntity,
  UsageByKeyEntity,
  UsageByModelEntity,
  UsageRecordEntity,
  UserAccountEntity,
  UserSessionEntity,
  UserTokenEntity,
  WebhookAttemptEntity,
  WebhookDeliveryEntity,
];
