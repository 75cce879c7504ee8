import { useState } from 'react';
import type { Balance, BillingSettingsUpdate } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { fieldError } from '../../api/field-error';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { parseDollars, toInputDollars } from '../../format/money';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';

const NAMES = ['monthly_limit_micro', 'low_balance_threshold_micro'] as const;

interface BillingSettingsDialogProps {
  readonly balance: Balance;
  readonly onClose: () => void;
}

export function BillingSettingsDialog({ balance: current, onClose }: BillingSettingsDialogProps) {
  // As the form shows it: what others change meanwhile is not changed back.
  const [balance] = useState(current);
  const { id: org } = useOrganization();
  const notice = useNotice();
  const save = useChange({
    change: async (values: Readonly<Record<string, string>>) =>
      unwrap(
        api.PATCH('/dashboard/api/organizations/{organization_id}/billing/settings', {
          params: { path: { organization_id: org } },
          body: changesOf(values, balance),
        }),
      ),
    invalidates: [['organization', org, 'billing']],
    onDone: () => {
      onClose();
      notice('Limits saved');
    },
  });
  return (
    <Dialog title="Limits of the organization" onClose={onClose}>
      <ChangeForm
        fields={NAMES}
        submit="Save"
        pending={save.pending}
        error={save.error}
        onSubmit={save.run}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <DollarField
          name="monthly_limit_micro"
          label="Spending limit per month, in dollars"
          hint="Per calendar month (UTC), from the next request on. Empty: no limit."
          micro={balance.monthly_limit_micro}
        />
        <DollarField
          name="low_balance_threshold_micro"
          label="Send a mail when available credit falls below, in dollars"
          hint="Owners and admins get one mail, and no other until credit is added. Empty: no mail."
          micro={balance.low_balance_threshold_micro}
        />
      </ChangeForm>
    </Dialog>
  );
}

interface DollarFieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly micro: number | null;
}

function DollarField({ micro, ...field }: DollarFieldProps) {
  return <TextField {...field} inputMode="decimal" defaultValue={micro === null ? '' : toInputDollars(micro)} />;
}

/** Only what changed: saving an unchanged threshold would allow another mail. */
function changesOf(values: Readonly<Record<string, string>>, balance: Balance): BillingSettingsUpdate {
  const changes: BillingSettingsUpdate = {};
  for (const name of NAMES) {
    const text = values[name]?.trim() ?? '';
    const micro = text === '' ? null : parseDollars(text);
    if (text !== '' && micro === null) {
      throw fieldError(name, 'Enter digits with at most six decimals after a point, for example 250 or 12.50.');
    }
    if (micro !== balance[name]) changes[name] = micro;
  }
  return changes;
}
