import { csvLine } from '../../core/types/csv';
import { toRequestId } from '../../core/types/ids';
import { type Micro, microToJson } from '../../core/types/micro';
import type {
  Balance,
  BillingSettings as BillingSettingsReply,
  Hold as HoldReply,
  LedgerEntry,
  Purchase as PurchaseReply,
} from '../../contract/dashboard';
import type { AccountState, Hold, LedgerLine } from '../../billing/payments/account-statement.repository';
import type { BillingSettings, PurchaseLimits } from '../../billing/payments/billing-settings.service';
import type { Purchase } from '../../billing/payments/purchase';

export interface BalanceParts {
  readonly state: AccountState;
  readonly settings: BillingSettings;
  readonly limits: PurchaseLimits;
  readonly canBuy: boolean;
}

export function toBalance({ state, settings, limits, canBuy }: BalanceParts): Balance {
  const { balanceMicro, reservedMicro, monthSpentMicro } = state;
  return {
    object: 'balance',
    currency: 'usd',
    balance_micro: microToJson(balanceMicro),
    reserved_micro: microToJson(reservedMicro),
    available_micro: microToJson(balanceMicro - reservedMicro),
    month_spent_micro: microToJson(monthSpentMicro),
    monthly_limit_micro: toJsonOrNull(settings.monthlyLimitMicro),
    operator_monthly_limit_micro: toJsonOrNull(settings.operatorMonthlyLimitMicro),
    low_balance_threshold_micro: toJsonOrNull(settings.lowBalanceThresholdMicro),
    purchases: {
      enabled: canBuy,
      day_limit_micro: microToJson(limits.day.limitMicro),
      day_left_micro: microToJson(limits.day.leftMicro),
      month_limit_micro: microToJson(limits.month.limitMicro),
      month_left_micro: microToJson(limits.month.leftMicro),
    },
  };
}

export function toBillingSettings(settings: BillingSettings): BillingSettingsReply {
  return {
    object: 'billing_settings',
    monthly_limit_micro: toJsonOrNull(settings.monthlyLimitMicro),
    operator_monthly_limit_micro: toJsonOrNull(settings.operatorMonthlyLimitMicro),
    low_balance_threshold_micro: toJsonOrNull(settings.lowBalanceThresholdMicro),
  };
}

export function toHold(hold: Hold): HoldReply {
  return {
    object: 'hold',
    request_id: toRequestId(hold.id),
    job_id: hold.isJob ? hold.id : null,
    key_id: hold.keyId,
    amount_micro: microToJson(hold.amountMicro),
    since: hold.createdAt.toISOString(),
  };
}

export function toLedgerEntry(line: LedgerLine): LedgerEntry {
  return {
    object: 'ledger_entry',
    id: line.id,
    kind: line.kind,
    amount_micro: microToJson(line.deltaMicro),
    balance_after_micro: toJsonOrNull(line.balanceAfterMicro),
    request_id: line.requestId && toRequestId(line.requestId),
    job_id: line.isJob ? line.requestId : null,
    key_id: line.keyId,
    purchase_id: line.purchaseId,
    reference: line.reference,
    created_at: line.createdAt.toISOString(),
  };
}

export const LEDGER_CSV_HEADER = csvLine([
  'id',
  'created_at',
  'kind',
  'amount_micro',
  'request_id',
  'job_id',
  'key_id',
  'reference',
  'balance_after_micro',
  'purchase_id',
]);

export function toLedgerCsvLine(line: LedgerLine): string {
  const { requestId } = line;
  return csvLine([
    line.id,
    line.createdAtText,
    line.kind,
    line.deltaMicro,
    requestId && toRequestId(requestId),
    line.isJob ? requestId : null,
    line.keyId,
    line.reference,
    line.balanceAfterMicro,
    line.purchaseId,
  ]);
}

function toJsonOrNull(amount: Micro | null): number | null {
  return amount === null ? null : microToJson(amount);
}

export function toPurchaseReply(purchase: Purchase): PurchaseReply {
  return {
    object: 'purchase',
    id: purchase.id,
    provider: purchase.provider,
    status: purchase.state,
    amount_micro: microToJson(purchase.amountMicro),
    refunded_micro: microToJson(purchase.refundedMicro),
    disputed_micro: microToJson(purchase.disputedMicro),
    owed_micro: microToJson(purchase.owedMicro),
    // Only a pending purchase can be paid.
    checkout_url: purchase.state === 'pending' ? purchase.checkoutUrl : null,
    failure: purchase.failure,
    created_by: purchase.userId,
    created_at: purchase.createdAt.toISOString(),
    expires_at: purchase.expiresAt.toISOString(),
    ended_at: purchase.endedAt?.toISOString() ?? null,
  };
}
