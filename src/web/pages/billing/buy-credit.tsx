import { useState } from 'react';
import type { PurchaseAllowance } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { fieldError } from '../../api/field-error';
import { newIdempotencyKey } from '../../api/idempotency-key';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { lowestLimit, PURCHASE_RANGE } from '../../format/limits';
import { formatMicro, parseDollars } from '../../format/money';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';

const { leastMicro, mostMicro } = PURCHASE_RANGE;
const RANGE = `${formatMicro(leastMicro)} to ${formatMicro(mostMicro)}`;
const PRESETS = ['10', '25', '50', '100'];

interface Order {
  readonly amount: string;
  /** Belongs to this amount: a repeated submission is the same purchase. */
  readonly idempotencyKey: string;
}

interface BuyCreditProps {
  readonly allowance: PurchaseAllowance;
  readonly onClose: () => void;
}

/** Orders credit and opens the page of the payment provider. */
export function BuyCredit({ allowance, onClose }: BuyCreditProps) {
  const [order, setOrder] = useState<Order>(() => orderOf(PRESETS[0] ?? ''));
  const purchase = usePurchase(onClose);
  const left = lowestLimit([allowance.day_left_micro, allowance.month_left_micro]) ?? 0;
  return (
    // An order under way opens the page of the payment, so it can be given up only there.
    <Dialog title="Buy credit" onClose={onClose} modalOnly={purchase.pending}>
      <ChangeForm
        fields={['amount_micro']}
        submit="Continue to payment"
        pending={purchase.pending}
        error={purchase.error}
        onSubmit={() => purchase.run(order)}
        actions={
          <Button disabled={purchase.pending} onClick={onClose}>
            Cancel
          </Button>
        }
      >
        <div role="group" aria-label="Usual amounts" className="flex flex-wrap gap-2">
          {PRESETS.map((amount) => (
            <Button key={amount} aria-pressed={order.amount === amount} onClick={() => setOrder(orderOf(amount))}>
              ${amount}
            </Button>
          ))}
        </div>
        <TextField
          name="amount_micro"
          label="Amount in US dollars"
          hint={`From ${RANGE}, in whole cents. You can still buy ${formatMicro(left)} now.`}
          required
          inputMode="decimal"
          autoComplete="off"
          value={order.amount}
          onChange={(event) => setOrder(orderOf(event.currentTarget.value))}
        />
      </ChangeForm>
    </Dialog>
  );
}

function orderOf(amount: string): Order {
  return { amount, idempotencyKey: newIdempotencyKey() };
}

function usePurchase(onClose: () => void) {
  const { id: org } = useOrganization();
  const notice = useNotice();
  return useChange({
    change: async ({ amount, idempotencyKey }: Order) => {
      const micro = parseDollars(amount, 2);
      if (micro === null) throw fieldError('amount_micro', 'Enter an amount in whole cents, for example 25 or 12.50.');
      if (micro < leastMicro || micro > mostMicro) {
        throw fieldError('amount_micro', `Enter an amount from ${RANGE}.`);
      }
      return unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/billing/purchases', {
          params: { path: { organization_id: org }, header: { 'Idempotency-Key': idempotencyKey } },
          body: { amount_micro: micro },
        }),
      );
    },
    invalidates: [['organization', org, 'billing']],
    onDone: ({ checkout_url: url }) => {
      onClose();
      if (url === null) notice('Ordered. The payment page is not ready yet: see Purchases.');
      else window.location.assign(url);
    },
  });
}
