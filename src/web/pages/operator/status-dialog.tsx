import type { OperatorOrganization } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { ReasonField } from './reason-field';

interface StatusDialogProps {
  readonly organization: OperatorOrganization;
  readonly onClose: () => void;
}

/** Suspends or activates an organization, with a reason that its members can read. */
export function StatusDialog({ organization, onClose }: StatusDialogProps) {
  const notice = useNotice();
  const suspends = organization.status === 'active';
  const path = { organization_id: organization.id };
  const change = useChange({
    change: (body: { reason: string }) =>
      unwrap(
        suspends
          ? api.POST('/dashboard/api/operator/organizations/{organization_id}/suspend', { params: { path }, body })
          : api.POST('/dashboard/api/operator/organizations/{organization_id}/activate', { params: { path }, body }),
      ),
    invalidates: [
      operatorKeys.organizations,
      operatorKeys.audit,
      // The operator may be a member, too.
      ['organization', organization.id],
    ],
    onDone: () => {
      notice(suspends ? 'Organization suspended' : 'Organization activated');
      onClose();
    },
  });
  return (
    <Dialog title={`${suspends ? 'Suspend' : 'Activate'} “${organization.name}”?`} onClose={onClose}>
      <p className="mb-4">
        {suspends
          ? 'Its API keys are refused within a second on all instances, until you activate the organization again. Members can still read data, and disable or revoke keys.'
          : 'Its API keys are accepted again.'}
      </p>
      <ChangeForm
        fields={['reason']}
        submit={suspends ? 'Suspend organization' : 'Activate organization'}
        variant={suspends ? 'danger' : 'primary'}
        pending={change.pending}
        error={change.error}
        onSubmit={({ reason = '' }) => change.run({ reason })}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <ReasonField autoFocus />
      </ChangeForm>
    </Dialog>
  );
}
