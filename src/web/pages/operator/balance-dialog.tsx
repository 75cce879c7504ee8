import { useState } from 'react';
import type { BalanceAdjustmentRequest, OperatorOrganization } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { fieldError } from '../../api/field-error';
import { useNotice } from '../../app/notices';
import { negatedMicro } from '../../format/balance';
import { formatMicro, formatSignedMicro } from '../../format/money';
import { Amount } from '../../ui/amount';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { dollarsOf, DollarsField, type FormValues } from './limit-fields';
import { ReasonField } from './reason-field';

interface BalanceDialogProps {
  readonly organization: OperatorOrganization;
  readonly onClose: () => void;
}

/** Books a signed amount. The same reference is booked once, and a repetition says so. */
export function BalanceDialog({ organization, onClose }: BalanceDialogProps) {
  const notice = useNotice();
  const [deducts, setDeducts] = useState(false);
  const adjust = useChange({
    change: (values: FormValues) =>
      unwrap(
        api.POST('/dashboard/api/operator/organizations/{organization_id}/adjustments', {
          params: { path: { organization_id: organization.id } },
          body: toRequest(values, deducts),
        }),
      ),
    invalidates: [operatorKeys.organizations, operatorKeys.audit, ['organization', organization.id, 'billing']],
    onDone: ({ applied, amount_micro: amount }) => {
      if (!applied) return;
      notice(`Balance corrected by ${formatSignedMicro(amount)}`);
      onClose();
    },
  });
  const { result } = adjust;
  return (
    <Dialog title={`Correct the balance of “${organization.name}”`} onClose={onClose}>
      <p className="mb-4 text-muted">
        It is <Amount micro={organization.balance_micro} /> now. A correction is a ledger entry: it cannot be deleted,
        only offset by another one.
      </p>
      {result?.applied === false && !adjust.pending && (
        <Banner tone="warn" title="Booked before" role="status">
          An entry of {formatSignedMicro(result.amount_micro)} with the reference “{result.reference}” exists already.
          Nothing was changed: the balance is {formatMicro(result.balance_micro)}.
        </Banner>
      )}
      <ChangeForm
        fields={['amount_micro', 'reason', 'reference']}
        submit={deducts ? 'Deduct' : 'Add'}
        variant={deducts ? 'danger' : 'primary'}
        pending={adjust.pending}
        error={adjust.error}
        onSubmit={adjust.run}
        actions={<Button onClick={onClose}>{result === undefined ? 'Cancel' : 'Close'}</Button>}
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField
            name="direction"
            label="Kind"
            value={deducts ? 'deduct' : 'add'}
            options={[
              ['add', 'Add credit'],
              ['deduct', 'Deduct credit'],
            ]}
            onChange={(value) => setDeducts(value === 'deduct')}
          />
          <DollarsField name="amount_micro" label="Amount in dollars" value={null} required />
        </div>
        <TextField
          name="reference"
          label="Reference"
          hint="For example the number of a credit note. Each reference is booked only once."
          required
          maxLength={200}
        />
        <ReasonField />
      </ChangeForm>
    </Dialog>
  );
}

/** @throws ApiError that marks the field. */
function toRequest(values: FormValues, deducts: boolean): BalanceAdjustmentRequest {
  const amount = dollarsOf(values, 'amount_micro');
  if (amount === null || amount === 0) throw fieldError('amount_micro', 'Enter an amount of more than $0.00.');
  return {
    amount_micro: deducts ? negatedMicro(amount) : amount,
    reason: values.reason ?? '',
    reference: values.reference ?? '',
  };
}
