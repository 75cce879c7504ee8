import type { EntityManager } from 'typeorm';
import type { Micro } from '../../core/types/micro';
import { BillingSettingsEntity } from '../../core/database/entities/billing-settings.entity';

/** The billing settings of one organization; `null`: not set. */
export interface BillingSettings {
  /** The organization's own. */
  readonly monthlyLimitMicro: Micro | null;
  /** The operator's; the lower one applies. */
  readonly operatorMonthlyLimitMicro: Micro | null;
  readonly lowBalanceThresholdMicro: Micro | null;
  /** Set by operators; `null`: the platform's default applies. */
  readonly purchaseLimitDayMicro: Micro | null;
  readonly purchaseLimitMonthMicro: Micro | null;
}

/** Settings plus whether the organization may buy credit. */
export interface FoundSettings extends BillingSettings {
  readonly isActive: boolean;
}

const READ = `
  SELECT a.own_monthly_limit_micro::text AS monthly_limit, a.operator_monthly_limit_micro::text AS operator_limit,
         s.low_balance_threshold_micro::text AS threshold,
         s.purchase_limit_day_micro::text AS day, s.purchase_limit_month_micro::text AS month,
         o.status = 'active' AS active
    FROM organization_account a
    JOIN organization o ON o.id = a.organization_id
    LEFT JOIN billing_settings s USING (organization_id)
   WHERE a.organization_id = $1`;

/** Locks the organization first, as operators do when they change both: the reverse order could deadlock. */
const MAKE = `
  INSERT INTO billing_settings (organization_id) SELECT id FROM organization WHERE id = $1 FOR KEY SHARE
  ON CONFLICT DO NOTHING`;

interface SettingsRow {
  readonly monthly_limit: string | null;
  readonly operator_limit: string | null;
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
    operatorMonthlyLimitMicro: toMicro(row.operator_limit),
    lowBalanceThresholdMicro: toMicro(row.threshold),
    purchaseLimitDayMicro: toMicro(row.day),
    purchaseLimitMonthMicro: toMicro(row.month),
    isActive: row.active,
  };
}

/** Blocks other purchases and settings changes of this organization until the transaction ends. */
export async function lockBillingSettings(manager: EntityManager, organizationId: string): Promise<void> {
  await manager.query(MAKE, [organizationId]);
  await manager.query('SELECT FROM billing_settings WHERE organization_id = $1 FOR UPDATE', [organizationId]);
}

/** A changed threshold causes another notice. The row must be locked. */
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
      lowBalanceNotifiedAt: null,
    },
  );
}

function toMicro(text: string | null): Micro | null {
  return text === null ? null : BigInt(text);
}
