import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { BillingAccounts } from '../ledger/billing-accounts';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { type Micro, microToJson } from '../../core/types/micro';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { limitIdleTime } from '../../core/database/limit-idle-time';
import {
  type BillingSettings,
  findBillingSettings,
  lockBillingSettings,
  saveLowBalanceThreshold,
} from './billing-settings.repository';
import { type PurchaseLimits, readPurchaseLimits } from './purchase-limits';

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
