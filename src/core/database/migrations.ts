import { Baseline1795000000000 } from '../../../migrations/1795000000000-baseline';
import { ProviderInstances1795300000000 } from '../../../migrations/1795300000000-provider-instances';
import { AuditLogByActor1795400000000 } from '../../../migrations/1795400000000-audit-log-by-actor';
import { KeyLimit1795600000000 } from '../../../migrations/1795600000000-key-limit';
import { PaymentDisputes1795700000000 } from '../../../migrations/1795700000000-payment-disputes';
import { PlatformUsage1795500000000 } from '../../../migrations/1795500000000-platform-usage';
import { PlaygroundKeys1795800000000 } from '../../../migrations/1795800000000-playground-keys';
import { PurchaseReview1796100000000 } from '../../../migrations/1796100000000-purchase-review';
import { EndedJobs1796200000000 } from '../../../migrations/1796200000000-ended-jobs';
import { LedgerBalances1796300000000 } from '../../../migrations/1796300000000-ledger-balances';
import { UsageDeltas1796400000000 } from '../../../migrations/1796400000000-usage-deltas';
import { MoneyLockTimeout1796500000000 } from '../../../migrations/1796500000000-money-lock-timeout';
import { UsageLatency1796600000000 } from '../../../migrations/1796600000000-usage-latency';
import { LedgerClosing1796700000000 } from '../../../migrations/1796700000000-ledger-closing';
import { LedgerDayChecks1796800000000 } from '../../../migrations/1796800000000-ledger-day-checks';
import { JobAccounts1796990000000 } from '../../../migrations/1796990000000-job-accounts';
import { ReviewedPurchases1797000000000 } from '../../../migrations/1797000000000-reviewed-purchases';
import { LedgerDayLock1797100000000 } from '../../../migrations/1797100000000-ledger-day-lock';
import { DeploymentIdentity1797110000000 } from '../../../migrations/1797110000000-deployment-identity';
import { JobTraces1797120000000 } from '../../../migrations/1797120000000-job-traces';
import { DayPartitions1797130000000 } from '../../../migrations/1797130000000-day-partitions';
import { ReceiptsByDay1797140000000 } from '../../../migrations/1797140000000-receipts-by-day';
import { EndedReservations1797300000000 } from '../../../migrations/1797300000000-ended-reservations';
import { LedgerArchive1797400000000 } from '../../../migrations/1797400000000-ledger-archive';
import { ArchivingViolations1797500000000 } from '../../../migrations/1797500000000-archiving-violations';
import { TaskLeases1797510000000 } from '../../../migrations/1797510000000-task-leases';
import { AuditRetention1797600000000 } from '../../../migrations/1797600000000-audit-retention';
import type { Migration } from './migration-files';

/** Every migration, oldest first: an explicit list keeps the build free of globs, and its spec checks it against the folder. */
export const MIGRATIONS: readonly (new () => Migration)[] = [
  Baseline1795000000000,
  ProviderInstances1795300000000,
  AuditLogByActor1795400000000,
  PlatformUsage1795500000000,
  KeyLimit1795600000000,
  PaymentDisputes1795700000000,
  PlaygroundKeys1795800000000,
  PurchaseReview1796100000000,
  EndedJobs1796200000000,
  LedgerBalances1796300000000,
  UsageDeltas1796400000000,
  MoneyLockTimeout1796500000000,
  UsageLatency1796600000000,
  LedgerClosing1796700000000,
  LedgerDayChecks1796800000000,
  JobAccounts1796990000000,
  ReviewedPurchases1797000000000,
  LedgerDayLock1797100000000,
  DeploymentIdentity1797110000000,
  JobTraces1797120000000,
  DayPartitions1797130000000,
  ReceiptsByDay1797140000000,
  EndedReservations1797300000000,
  LedgerArchive1797400000000,
  ArchivingViolations1797500000000,
  TaskLeases1797510000000,
  AuditRetention1797600000000,
];
