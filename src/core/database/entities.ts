import { ApiKeyEntity } from './entities/api-key.entity';
import { AuditEntryEntity } from './entities/audit-entry.entity';
import { BillingSettingsEntity } from './entities/billing-settings.entity';
import { DeploymentEntity } from './entities/deployment.entity';
import { ModelEntity } from './entities/model.entity';
import { OrganizationInvitationEntity } from './entities/organization-invitation.entity';
import { OrganizationMemberEntity } from './entities/organization-member.entity';
import { OrganizationEntity } from './entities/organization.entity';
import { PaymentEventEntity } from './entities/payment-event.entity';
import { PlaygroundSecretEntity } from './entities/playground-secret.entity';
import { PriceVersionEntity } from './entities/price-version.entity';
import { ProviderCredentialEntity } from './entities/provider-credential.entity';
import { ProviderInstanceEntity } from './entities/provider-instance.entity';
import { PurchaseEntity } from './entities/purchase.entity';
import { UserAccountEntity } from './entities/user-account.entity';
import { UserSessionEntity } from './entities/user-session.entity';
import { UserTokenEntity } from './entities/user-token.entity';

/**
 * Tables that are read and written through TypeORM. Ledger, usage, jobs, webhooks and idempotency keys have SQL
 * functions and statements of their own, and no entity. An explicit list keeps the build free of globs; its spec checks
 * it against the folder.
 */
export const ENTITIES: readonly (new () => object)[] = [
  ApiKeyEntity,
  AuditEntryEntity,
  BillingSettingsEntity,
  DeploymentEntity,
  ModelEntity,
  OrganizationEntity,
  OrganizationInvitationEntity,
  OrganizationMemberEntity,
  PaymentEventEntity,
  PlaygroundSecretEntity,
  PriceVersionEntity,
  ProviderCredentialEntity,
  ProviderInstanceEntity,
  PurchaseEntity,
  UserAccountEntity,
  UserSessionEntity,
  UserTokenEntity,
];
