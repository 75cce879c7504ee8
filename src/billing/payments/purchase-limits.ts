import type { EntityManager } from 'typeorm';
import { GatewayError } from '../../core/errors/gateway-error';
import { type Micro, microToJson } from '../../core/types/micro';
import type { AppConfig } from '../../core/config/app-config';
import type { BillingSettings } from './billing-settings.repository';
import { sumPurchases } from './purchase.repository';

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
