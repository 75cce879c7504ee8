import type { Purchase, PurchaseStatus } from '../../../contract/dashboard';
import { Amount } from '../../ui/amount';
import { Badge } from '../../ui/badge';
import type { Tone } from '../../ui/banner';

const TONES: Readonly<Record<PurchaseStatus, Tone>> = {
  pending: 'accent',
  processing: 'accent',
  paid: 'good',
  failed: 'bad',
  expired: 'neutral',
  canceled: 'neutral',
  mismatch: 'warn',
};

const PURCHASE_IN_WORDS: Readonly<Record<PurchaseStatus, string>> = {
  pending: 'It can be paid, or the payment is not confirmed yet.',
  processing: 'Paid by a method that takes days. The credit follows when the money arrives.',
  paid: 'The credit was added.',
  failed: 'The payment failed, and nothing was charged.',
  expired: 'It was not paid in time.',
  canceled: 'It was withdrawn before it was paid.',
  mismatch: 'The payment differs from the order. The operator reviews it before credit is added.',
};

/** What became of the purchase; for a payment that differs from the order, also how it goes on. */
export function purchaseInWords({ status, failure }: Pick<Purchase, 'status' | 'failure'>): string {
  if (failure === null) return PURCHASE_IN_WORDS[status];
  return status === 'mismatch' ? `${failure} The operator reviews it before credit is added.` : failure;
}

export function PurchaseBadge({ status }: { readonly status: PurchaseStatus }) {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

type Amounts = Pick<Purchase, 'amount_micro' | 'refunded_micro' | 'disputed_micro' | 'owed_micro'>;

/** What was ordered, and what was paid back, disputed or is owed of it. */
export function PurchaseAmount(purchase: Amounts & { readonly owedLabel: string }) {
  const parts = [
    ['refunded', purchase.refunded_micro],
    ['disputed', purchase.disputed_micro],
    [purchase.owedLabel, purchase.owed_micro],
  ] as const;
  return (
    <>
      <Amount micro={purchase.amount_micro} />
      {parts
        .filter(([, micro]) => micro > 0)
        .map(([word, micro]) => (
          <span key={word} className="block text-xs text-warn">
            <Amount micro={micro} /> {word}
          </span>
        ))}
    </>
  );
}
