import { useState } from 'react';
import type { OperatorOrganization, OrganizationLimitsUpdate } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { MOST } from '../../format/limits';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import {
  changedFields,
  dollarsOf,
  DollarsField,
  type FormValues,
  LimitField,
  limitOf,
  RATE_LIMIT_NAMES,
  RateLimitFields,
  rateLimitsOf,
} from './limit-fields';

interface OrganizationLimitsDialogProps {
  readonly organization: OperatorOrganization;
  readonly onClose: () => void;
}

export function OrganizationLimitsDialog({ organization: current, onClose }: OrganizationLimitsDialogProps) {
  // As the form shows it: what others change meanwhile is not changed back.
  const [organization] = useState(current);
  const notice = useNotice();
  const update = useChange({
    change: (values: FormValues) =>
      unwrap(
        api.PATCH('/dashboard/api/operator/organizations/{organization_id}', {
          params: { path: { organization_id: organization.id } },
          body: changedFields<OrganizationLimitsUpdate>(organization, limitsOf(values)),
        }),
      ),
    invalidates: [operatorKeys.organizations, operatorKeys.audit, ['organization', organization.id]],
    onDone: () => {
      notice('Limits set');
      onClose();
    },
  });
  return (
    <Dialog title={`Limits of “${organization.name}”`} onClose={onClose}>
      <p className="mb-4 text-muted">The limits apply to all API keys of the organization together, within a second.</p>
      <ChangeForm
        fields={[
          ...RATE_LIMIT_NAMES,
          'monthly_limit_micro',
          'purchase_limit_day_micro',
          'purchase_limit_month_micro',
          'max_api_keys',
        ]}
        submit="Set limits"
        pending={update.pending}
        error={update.error}
        onSubmit={update.run}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <RateLimitFields limits={organization} />
        <div className="grid gap-4 sm:grid-cols-2">
          <DollarsField
            name="monthly_limit_micro"
            label="Spending limit per month, in dollars"
            hint="UTC. Empty: no limit"
            value={organization.monthly_limit_micro}
          />
          <LimitField
            name="max_api_keys"
            label="API keys"
            hint="Empty: the default of 100"
            value={organization.max_api_keys}
            min={0}
            max={MOST.organizationKeys}
          />
          <DollarsField
            name="purchase_limit_day_micro"
            label="Purchase limit per day, in dollars"
            hint="UTC. Empty: the platform’s limit"
            value={organization.purchase_limit_day_micro}
          />
          <DollarsField
            name="purchase_limit_month_micro"
            label="Purchase limit per month, in dollars"
            hint="UTC. Empty: the platform’s limit"
            value={organization.purchase_limit_month_micro}
          />
        </div>
      </ChangeForm>
    </Dialog>
  );
}

/** @throws ApiError that marks the field. */
function limitsOf(values: FormValues): OrganizationLimitsUpdate {
  return {
    ...rateLimitsOf(values),
    monthly_limit_micro: dollarsOf(values, 'monthly_limit_micro'),
    purchase_limit_day_micro: dollarsOf(values, 'purchase_limit_day_micro'),
    purchase_limit_month_micro: dollarsOf(values, 'purchase_limit_month_micro'),
    max_api_keys: limitOf(values, 'max_api_keys'),
  };
}
