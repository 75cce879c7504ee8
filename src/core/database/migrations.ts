import type { MigrationInterface } from 'typeorm';
import { CreateOrganizationsAndApiKeys1795200000000 } from '../../../migrations/1795200000000-create-organizations-and-api-keys';
import { CreateMoneyTables1795200000010 } from '../../../migrations/1795200000010-create-money-tables';
import { CreateUsageRecord1795200000011 } from '../../../migrations/1795200000011-create-usage-record';
import { CreateGatewayInstance1795200000012 } from '../../../migrations/1795200000012-create-gateway-instance';
import { CreateMoneyReserve1795200000013 } from '../../../migrations/1795200000013-create-money-reserve';
import { CreateMoneyFinish1795200000014 } from '../../../migrations/1795200000014-create-money-finish';
import { CreateMoneyCorrections1795200000015 } from '../../../migrations/1795200000015-create-money-corrections';
import { CreateLedgerAuditor1795200000016 } from '../../../migrations/1795200000016-create-ledger-auditor';
import { CreateModelsAndDeployments1795200000040 } from '../../../migrations/1795200000040-create-models-and-deployments';
import { CreatePriceVersions1795200000041 } from '../../../migrations/1795200000041-create-price-versions';
import { AddOrganizationLimits1795300000000 } from '../../../migrations/1795300000000-add-organization-limits';
import { AddModelLimits1795300000001 } from '../../../migrations/1795300000001-add-model-limits';
import { CreateIdempotencyTables1795300000020 } from '../../../migrations/1795300000020-create-idempotency-tables';
import { ClaimKeysInMoneyReserve1795300000021 } from '../../../migrations/1795300000021-claim-keys-in-money-reserve';
import { CompleteKeysInMoneyFinish1795300000022 } from '../../../migrations/1795300000022-complete-keys-in-money-finish';
import { CreateIdempotencySweep1795300000023 } from '../../../migrations/1795300000023-create-idempotency-sweep';
import { AuditIdempotency1795300000024 } from '../../../migrations/1795300000024-audit-idempotency';
import { CreateStoredObject1795400000010 } from '../../../migrations/1795400000010-create-stored-object';
import { CreateMediaJobs1795500000000 } from '../../../migrations/1795500000000-create-media-jobs';
import { CreateMediaJobFunctions1795500000001 } from '../../../migrations/1795500000001-create-media-job-functions';
import { HoldMoneyForJobs1795500000002 } from '../../../migrations/1795500000002-hold-money-for-jobs';
import { AuditMediaJobs1795500000003 } from '../../../migrations/1795500000003-audit-media-jobs';
import { CreateWebhooks1795500000010 } from '../../../migrations/1795500000010-create-webhooks';
import { CreateUsersAndSessions1795600000000 } from '../../../migrations/1795600000000-create-users-and-sessions';
import { CreatePurchases1795600000300 } from '../../../migrations/1795600000300-create-purchases';
import { AuditPurchases1795600000301 } from '../../../migrations/1795600000301-audit-purchases';
import { RecordAttempts1795600000401 } from '../../../migrations/1795600000401-record-attempts';
import { CreateUsageAggregates1795600000402 } from '../../../migrations/1795600000402-create-usage-aggregates';
import { RedeliverWebhooks1795600000500 } from '../../../migrations/1795600000500-redeliver-webhooks';
import { AddOperatorDecisions1795600000600 } from '../../../migrations/1795600000600-add-operator-decisions';
import { CreateProviderCredential1795600000601 } from '../../../migrations/1795600000601-create-provider-credential';
import { AddInstanceVersion1795600000602 } from '../../../migrations/1795600000602-add-instance-version';
import { KeepKeysOfJobs1795600001100 } from '../../../migrations/1795600001100-keep-keys-of-jobs';
import { FollowRefunds1795600001300 } from '../../../migrations/1795600001300-follow-refunds';
import { IndexAuditFilters1795600001301 } from '../../../migrations/1795600001301-index-audit-filters';
import { CreateLedgerAudit1795700003000 } from '../../../migrations/1795700003000-create-ledger-audit';
import { SealReceiptsAndAnswers1795700003001 } from '../../../migrations/1795700003001-seal-receipts-and-answers';
import { AuditRecords1795700003002 } from '../../../migrations/1795700003002-audit-records';
import { AllowModalityGroups1795700006000 } from '../../../migrations/1795700006000-allow-modality-groups';
import { StoreJobInputs1795700007000 } from '../../../migrations/1795700007000-store-job-inputs';
import { ShareWebhookHosts1795700007001 } from '../../../migrations/1795700007001-share-webhook-hosts';
import { KeepDeliveryLogs1795700007002 } from '../../../migrations/1795700007002-keep-delivery-logs';
import { BoundBalances1795700008000 } from '../../../migrations/1795700008000-bound-balances';
import { SeparateMonthlyLimits1795700008010 } from '../../../migrations/1795700008010-separate-monthly-limits';
import { CancelPurchases1795700008020 } from '../../../migrations/1795700008020-cancel-purchases';
import { IndexUsageFilters1795700008030 } from '../../../migrations/1795700008030-index-usage-filters';

/** Every migration, oldest first: an explicit list keeps the build free of globs, and its spec checks it against the folder. */
export const MIGRATIONS: readonly (new () => MigrationInterface)[] = [
  CreateOrganizationsAndApiKeys1795200000000,
  CreateMoneyTables1795200000010,
  CreateUsageRecord1795200000011,
  CreateGatewayInstance1795200000012,
  CreateMoneyReserve1795200000013,
  CreateMoneyFinish1795200000014,
  CreateMoneyCorrections1795200000015,
  CreateLedgerAuditor1795200000016,
  CreateModelsAndDeployments1795200000040,
  CreatePriceVersions1795200000041,
  AddOrganizationLimits1795300000000,
  AddModelLimits1795300000001,
  CreateIdempotencyTables1795300000020,
  ClaimKeysInMoneyReserve1795300000021,
  CompleteKeysInMoneyFinish1795300000022,
  CreateIdempotencySweep1795300000023,
  AuditIdempotency1795300000024,
  CreateStoredObject1795400000010,
  CreateMediaJobs1795500000000,
  CreateMediaJobFunctions1795500000001,
  HoldMoneyForJobs1795500000002,
  AuditMediaJobs1795500000003,
  CreateWebhooks1795500000010,
  CreateUsersAndSessions1795600000000,
  CreatePurchases1795600000300,
  AuditPurchases1795600000301,
  RecordAttempts1795600000401,
  CreateUsageAggregates1795600000402,
  RedeliverWebhooks1795600000500,
  AddOperatorDecisions1795600000600,
  CreateProviderCredential1795600000601,
  AddInstanceVersion1795600000602,
  KeepKeysOfJobs1795600001100,
  FollowRefunds1795600001300,
  IndexAuditFilters1795600001301,
  CreateLedgerAudit1795700003000,
  SealReceiptsAndAnswers1795700003001,
  AuditRecords1795700003002,
  AllowModalityGroups1795700006000,
  StoreJobInputs1795700007000,
  ShareWebhookHosts1795700007001,
  KeepDeliveryLogs1795700007002,
  BoundBalances1795700008000,
  SeparateMonthlyLimits1795700008010,
  CancelPurchases1795700008020,
  IndexUsageFilters1795700008030,
];
