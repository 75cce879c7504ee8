import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { recordAudit } from '../../core/database/audit-log';
import { BillingSettingsEntity } from '../../core/database/entities/billing-settings.entity';
import { limitIdleTime } from '../../core/database/limit-idle-time';
import { GatewayError } from '../../core/errors/gateway-error';
import { type Clock, CLOCK } from '../../core/time/clock';
import type { Actor } from '../../core/types/actor';
import { type Micro, microToJson } from '../../core/types/micro';
import { BillingAccounts } from '../ledger/ledger.service';
import { sumPurchases } from './purchase.repository';

/** Absent fields stay unchanged; `null` removes the value. */
export interface BillingChanges {
  /** The organization's limit on the cost of requests per calendar month (UTC). */
  readonly monthlyLimitMicro?: Micro | null;
  /** Owners and admins get an email when less than this is available. */
  readonly lowBalanceThresholdMicro?: Micro | null;
}

/** Billing settings of organizations, and their purchase limits, which operators set. */
@Injectable()
export class BillingSettingsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly accounts: BillingAccounts,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'payments'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws GatewayError `not_found`. */
  get(organizationId: string): Promise<BillingSettings> {
    return this.require(this.dataSource.manager, organizationId);
  }

  /** @throws GatewayError `not_found`. */
  async getPurchaseLimits(organizationId: string): Promise<PurchaseLimits> {
    const { manager } = this.dataSource;
    const settings = await this.require(manager, organizationId);
    return readPurchaseLimits(manager, organizationId, settings, this.config.payments, this.clock.now());
  }

  /** Applies from the next request on. @throws GatewayError `not_found`. */
  update(organizationId: string, changes: BillingChanges, actor: Actor): Promise<BillingSettings> {
    const { monthlyLimitMicro, lowBalanceThresholdMicro } = changes;
    return this.dataSource.transaction(async (manager) => {
      await limitIdleTime(manager);
      await lockBillingSettings(manager, organizationId);
      const before = await this.require(manager, organizationId);
      if (monthlyLimitMicro !== undefined) {
        await this.accounts.setOwnMonthlyLimit(organizationId, monthlyLimitMicro, manager);
      }
      if (lowBalanceThresholdMicro !== undefined && lowBalanceThresholdMicro !== before.lowBalanceThresholdMicro) {
        await saveLowBalanceThreshold(manager, organizationId, lowBalanceThresholdMicro);
      }
      const after = await this.require(manager, organizationId);
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'billing_settings.updated',
        target: { type: 'organization', id: organizationId },
        ...differences(before, after),
      });
      return after;
    });
  }

  private async require(manager: EntityManager, organizationId: string): Promise<BillingSettings> {
    const settings = await findBillingSettings(manager, organizationId);
    if (settings === null) throw new GatewayError('not_found', 'There is no such organization.');
    return settings;
  }
}

const NAMES = {
  monthlyLimitMicro: 'monthly_limit_micro',
  lowBalanceThresholdMicro: 'low_balance_threshold_micro',
} as const satisfies Partial<Record<keyof BillingSettings, string>>;

/** The changed fields under their API names. */
function differences(before: BillingSettings, after: BillingSettings): { before: object; after: object } {
  const changed = (Object.keys(NAMES) as (keyof typeof NAMES)[]).filter((key) => before[key] !== after[key]);
  const pick = (settings: BillingSettings): object =>
    Object.fromEntries(
      changed.map((key) => {
        const value = settings[key];
        return [NAMES[key], value === null ? null : microToJson(value)];
      }),
    );
  return { before: pick(before), after: pick(after) };
}

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
  INSERT INTO billing_settings (organization_id) SELECT id FROM organization WHERE id = $1 FOR SHARE
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
async function saveLowBalanceThreshold(
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

/** The purchase limits of an organization per day and calendar month (UTC), and the amounts left. */
export interface PurchaseLimits {
  readonly day: PurchaseLimit;
  readonly month: PurchaseLimit;
}

interface PurchaseLimit {
  readonly limitMicro: Micro;
  readonly leftMicro: Micro;
}

/** Paid and payable purchases count on the day of their order. */
export async function readPurchaseLimits(
  manager: EntityManager,
  organizationId: string,
  settings: BillingSettings,
  platform: AppConfig['payments'],
  nowMs: number,
): Promise<PurchaseLimits> {
  const now = new Date(nowMs);
  const bought = await sumPurchases(manager, organizationId, {
    day: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())),
    month: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())),
  });
  return {
    day: toLimit(settings.purchaseLimitDayMicro ?? BigInt(platform.purchaseLimitDayMicro), bought.dayMicro),
    month: toLimit(settings.purchaseLimitMonthMicro ?? BigInt(platform.purchaseLimitMonthMicro), bought.monthMicro),
  };
}

/** An amount equal to the limit passes. @throws GatewayError `purchase_limit_exceeded`. */
export function requireWithinLimits({ day, month }: PurchaseLimits, amountMicro: Micro): void {
  if (amountMicro > day.leftMicro) throw exceeded('day', 'daily', day);
  if (amountMicro > month.leftMicro) throw exceeded('month', 'monthly', month);
}

function toLimit(limitMicro: Micro, boughtMicro: Micro): PurchaseLimit {
  return { limitMicro, leftMicro: boughtMicro < limitMicro ? limitMicro - boughtMicro : 0n };
}

function exceeded(window: string, adjective: string, { limitMicro, leftMicro }: PurchaseLimit): GatewayError {
  return new GatewayError('purchase_limit_exceeded', `This purchase would exceed the ${adjective} purchase limit.`, {
    details: { limit: window, limit_micro: microToJson(limitMicro), left_micro: microToJson(leftMicro) },
  });
}
