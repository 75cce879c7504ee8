import type { LedgerEntryKind } from '../../../contract/dashboard';
import { allOf, dayOf, oneOf, uuidOf } from '../../app/search-values';

export const LEDGER_KINDS = allOf<LedgerEntryKind>({ topup: true, charge: true, refund: true, adjust: true });
export const BILLING_TABS = ['ledger', 'purchases', 'holds'] as const;

export interface BillingSearch {
  readonly tab?: (typeof BILLING_TABS)[number];
  /** Filters of the ledger; days are UTC, the last one included. */
  readonly kind?: LedgerEntryKind;
  readonly from?: string;
  readonly to?: string;
  /** With `outcome`: where payment pages send buyers back to. */
  readonly purchase?: string;
  readonly outcome?: 'paid' | 'canceled';
}

export function billingSearch(search: Record<string, unknown>): BillingSearch {
  return {
    tab: oneOf(search.tab, BILLING_TABS),
    kind: oneOf(search.kind, LEDGER_KINDS),
    from: dayOf(search.from),
    to: dayOf(search.to),
    purchase: uuidOf(search.purchase),
    outcome: oneOf(search.outcome, ['paid', 'canceled']),
  };
}
