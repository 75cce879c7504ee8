import type { EntityManager } from 'typeorm';
import type { Micro } from '../common/micro';
import { BillingSettingsEntity } from '../database/entities/billing-settings.entity';

/** What is set for the money of one organization; `null`: not set. */
export interface BillingSettings {
  readonly monthlyLimitMicro: Micro | null;
  readonly lowBalanceThresholdMicro: Micro | null;
  /** Of operators; the platform's hold where they are `null`. */
  readonly purchaseLimitDayMicro: Micro | null;
  readonly purchaseLimitMonthMicro: Micro | null;
}

/** With whether the organization may have more to spend. */
export interface FoundSettings extends BillingSettings {
  readonly isActive: boolean;
}

const READ = `
  SELECT a.monthly_limit_micro::text AS monthly_limit, s.low_balance_threshold_micro::text AS threshold,
         s.purchase_limit_day_micro::text AS day, s.purchase_limit_month_micro::text AS month,
         o.status = 'active' AS active
    FROM organization_account a
    JOIN organization o ON o.id = a.organization_id
    LEFT JOIN billing_settings s USING (organization_id)
   WHERE a.organization_id = $1`;

/** The organization comes first, as for operators, who change both: the other way round they would wait for each other. */
const MAKE = `
  INSERT INTO billing_settings (organization_id) SELECT id FROM organization WHERE id = $1 FOR KEY SHARE
  ON CONFLICT DO NOTHING`;

interface SettingsRow {
  readonly monthly_limit: string | null;
  readonly threshold: string | null;
  readonly day: string | null;
  readonly month: string | null;
  readonly active: boolean;
}

/** `null` without such an organization. */
export async function findBillingSettings(
  manager: EntityManager,
  organizationId: string,
): Promise<FoundSettings | null> {
  const [row]: SettingsRow[] = await manager.query(READ, [organizationId]);
  if (row === undefined) return null;
  return {
    monthlyLimitMicro: toMicro(row.monthly_limit),
    lowBalanceThresholdMicro: toMicro(row.threshold),
    purchaseLimitDayMicro: toMicro(row.day),
    purchaseLimitMonthMicro: toMicro(row.month),
    isActive: row.active,
  };
}

/** Makes everybody wait who buys for this organization, or changes its settings, until the transaction ends. */
export async function lockBillingSettings(manager: EntityManager, organizationId: string): Promise<void> {
  await manager.query(MAKE, [organizationId]);
  await manager.query('SELECT FROM billing_settings WHERE organization_id = $1 FOR UPDATE', [organizationId]);
}

/** Whoever sets another threshold is told of that one, too. Of a locked row. */
export async function saveLowBalanceThreshold(
  manager: EntityManager,
  organizationId: string,
  thresholdMicro: Micro | null,
): Promise<void> {
  await manager.update(
    BillingSettingsEntity,
    { organizationId },
    {
      lowBalanceThresholdMicro: thresholdMicro?.toString() ?? null,
      lowBalanceClaimedAt: null,
      lowBalanceToldAt: null,
    },
  );
}

function toMicro(text: string | null): Micro | null {
  return text === null ? null : BigInt(text);
}
