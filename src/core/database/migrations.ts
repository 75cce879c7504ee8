import { Baseline1797700000000 } from '../../../migrations/1797700000000-baseline';
import { OrganizationFirst1797800000000 } from '../../../migrations/1797800000000-organization-first';
import { OptionalCounts1797900000000 } from '../../../migrations/1797900000000-optional-counts';
import { DropObsoleteLookups1798000000000 } from '../../../migrations/1798000000000-drop-obsolete-lookups';
import { SweepPastLockedAccounts1798100000000 } from '../../../migrations/1798100000000-sweep-past-locked-accounts';
import { WebhookHost1798200000000 } from '../../../migrations/1798200000000-webhook-host';
import { NarrowerReceipts1798300000000 } from '../../../migrations/1798300000000-narrower-receipts';
import { SettingsInMoneyFinish1798400000000 } from '../../../migrations/1798400000000-settings-in-money-finish';
import { ReceiptsByDay1798500000000 } from '../../../migrations/1798500000000-receipts-by-day';
import { AuditOfAgedBooks1798600000000 } from '../../../migrations/1798600000000-audit-of-aged-books';
import { OldestOpenDay1798700000000 } from '../../../migrations/1798700000000-oldest-open-day';
import { PepperFingerprint1798800000000 } from '../../../migrations/1798800000000-pepper-fingerprint';
import type { Migration } from './migration-files';

/**
 * Every migration, oldest first: an explicit list keeps the build free of globs, and its spec checks it against the
 * folder.
 */
export const MIGRATIONS: readonly (new () => Migration)[] = [
  Baseline1797700000000,
  OrganizationFirst1797800000000,
  OptionalCounts1797900000000,
  DropObsoleteLookups1798000000000,
  SweepPastLockedAccounts1798100000000,
  WebhookHost1798200000000,
  NarrowerReceipts1798300000000,
  SettingsInMoneyFinish1798400000000,
  ReceiptsByDay1798500000000,
  AuditOfAgedBooks1798600000000,
  OldestOpenDay1798700000000,
  PepperFingerprint1798800000000,
];
