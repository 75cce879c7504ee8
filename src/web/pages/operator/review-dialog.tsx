import type { OperatorPurchase } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { formatMicro } from '../../format/money';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { ReasonField } from './reason-field';

interface ReviewDialogProps {
  readonly purchase: OperatorPurchase;
  readonly onClose: () => void;
}

/** An organization can have several payments to review. */
export function paymentLabel({ amount_micro }: OperatorPurchase, organization: string): string {
  return `payment of ${formatMicro(amount_micro)} by ${organization}`;
}

/** Marks a payment as reviewed, with a note that the organization can read. */
export function ReviewDialog({ purchase, onClose }: ReviewDialogProps) {
  const notice = useNotice();
  const change = useChange({
    change: (body: { note: string }) =>
      unwrap(
        api.POST('/dashboard/api/operator/purchases/{purchase_id}/review', {
          params: { path: { purchase_id: purchase.id } },
          body,
        }),
      ),
    invalidates: [operatorKeys.purchases, operatorKeys.organizations, operatorKeys.audit],
    onDone: () => {
      notice('Payment marked as reviewed');
      onClose();
    },
  });
  return (
    <Dialog
      title={`Mark the ${paymentLabel(purchase, `“${purchase.organization_name}”`)} as reviewed?`}
      onClose={onClose}
    >
      <p className="mb-4">
        Compare it with the payment provider first. Nothing is booked: correct the balance on the page of the
        organization. The payment appears here again when it changes.
      </p>
      <ChangeForm
        fields={['note']}
        submit="Mark as reviewed"
        pending={change.pending}
        error={change.error}
        onSubmit={({ note = '' }) => change.run({ note })}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <ReasonField name="note" label="What you found" autoFocus />
      </ChangeForm>
    </Dialog>
  );
}
