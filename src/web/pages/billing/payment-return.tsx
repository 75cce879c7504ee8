import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Purchase } from '../../../contract/dashboard';
import { purchaseQuery } from '../../api/ledger';
import { FailureView } from '../../app/failure-view';
import { useOrganization } from '../../app/use-session';
import { formatMicro } from '../../format/money';
import { Banner, type Tone } from '../../ui/banner';
import { Button, ButtonAnchor } from '../../ui/button';
import { purchaseInWords } from './purchase-words';

interface PaymentReturnProps {
  readonly purchaseId: string;
  /** As the payment page says; only the purchase itself is certain. */
  readonly outcome: 'paid' | 'canceled' | undefined;
}

/** After the return from the payment page: waits until the payment is confirmed. */
export function PaymentReturn({ purchaseId, outcome }: PaymentReturnProps) {
  const { id: org, may } = useOrganization();
  const navigate = useNavigate({ from: '/o/$org/billing' });
  const queries = useQueryClient();
  const query = useQuery({ ...purchaseQuery(org, purchaseId, outcome === 'paid'), enabled: may('admin') });
  const status = query.data?.status;
  useEffect(() => {
    if (status !== 'paid') return;
    for (const part of ['balance', 'ledger']) {
      void queries.invalidateQueries({ queryKey: ['organization', org, 'billing', part] });
    }
    void queries.invalidateQueries({ queryKey: ['organization', org, 'billing', 'purchases', 'list'] });
  }, [queries, org, status]);
  const close = (): void =>
    void navigate({ search: (search) => ({ ...search, purchase: undefined, outcome: undefined }), replace: true });
  if (!may('admin')) return <Banner>Owners and admins can see the status of this purchase.</Banner>;
  if (query.data === undefined) {
    if (query.error !== null) return <FailureView error={query.error} onRetry={() => void query.refetch()} />;
    return <Banner role="status">Looking up the purchase.</Banner>;
  }
  return <PurchaseBanner purchase={query.data} isAwaited={outcome === 'paid'} onClose={close} />;
}

interface PurchaseBannerProps {
  readonly purchase: Purchase;
  readonly isAwaited: boolean;
  readonly onClose: () => void;
}

function PurchaseBanner({ purchase, isAwaited, onClose }: PurchaseBannerProps) {
  const { status, checkout_url: checkoutUrl } = purchase;
  const { tone, title, text } = wordsFor(purchase, isAwaited);
  return (
    <Banner tone={tone} role="status" title={title}>
      <p>{text}</p>
      <div className="mt-2 flex flex-wrap gap-2">
        {status === 'pending' && !isAwaited && checkoutUrl !== null && (
          <ButtonAnchor small href={checkoutUrl}>
            Continue to payment
          </ButtonAnchor>
        )}
        <Button small onClick={onClose}>
          Close
        </Button>
      </div>
    </Banner>
  );
}

interface Words {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
}

function wordsFor(purchase: Purchase, isAwaited: boolean): Words {
  const { status, amount_micro } = purchase;
  const amount = formatMicro(amount_micro);
  const text = purchaseInWords(purchase);
  switch (status) {
    case 'paid':
      return { tone: 'good', title: `Paid: ${amount} of credit`, text };
    case 'pending':
      return isAwaited
        ? { tone: 'accent', title: `Waiting for the confirmation of ${amount}`, text: 'This takes a few seconds.' }
        : { tone: 'neutral', title: `${amount} not paid`, text: 'You can still pay, or withdraw it under Purchases.' };
    case 'processing':
      return { tone: 'accent', title: `${amount} on its way`, text };
    default:
      return { tone: 'warn', title: `No credit from this purchase of ${amount}: ${status}`, text };
  }
}
