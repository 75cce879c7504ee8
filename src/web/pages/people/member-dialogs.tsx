import type { Member, Role } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { membersKey } from '../../api/people';
import { currentUserQuery } from '../../api/session';
import { useNotice } from '../../app/notices';
import { useCurrentUser, useOrganization } from '../../app/use-session';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { grantableRoles, memberLabel, toRole } from './roles';

interface MemberDialogProps {
  readonly member: Member;
  readonly onClose: () => void;
}

export function ChangeRoleDialog({ member, onClose }: MemberDialogProps) {
  const { id, role: ownRole } = useOrganization();
  const isSelf = useCurrentUser().id === member.user_id;
  const notice = useNotice();
  const change = useChange({
    change: (role: Role) =>
      unwrap(
        api.PATCH('/dashboard/api/organizations/{organization_id}/members/{user_id}', {
          params: { path: { organization_id: id, user_id: member.user_id } },
          body: { role },
        }),
      ),
    invalidates: [membersKey(id), currentUserQuery.queryKey],
    onDone: ({ name, role }) => {
      notice(`${name} is now ${role}`);
      onClose();
    },
  });
  return (
    <Dialog title={`Role of ${memberLabel(member)}`} onClose={onClose}>
      {isSelf && (
        <Banner tone="warn">This is your own role. If you lower it, you cannot change it back yourself.</Banner>
      )}
      <ChangeForm
        fields={['role']}
        submit="Change role"
        pending={change.pending}
        error={change.error}
        onSubmit={({ role }) => change.run(toRole(role))}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <SelectField
          name="role"
          label="Role"
          hint="Applies from the next request. Pending invitations by this member to roles that the new role cannot assign are withdrawn."
          options={grantableRoles(ownRole)}
          defaultValue={member.role}
        />
      </ChangeForm>
    </Dialog>
  );
}

export function RemoveMemberDialog({ member, onClose }: MemberDialogProps) {
  const { id, name: organization } = useOrganization();
  const notice = useNotice();
  const remove = useChange({
    change: () =>
      unwrap(
        api.DELETE('/dashboard/api/organizations/{organization_id}/members/{user_id}', {
          params: { path: { organization_id: id, user_id: member.user_id } },
        }),
      ),
    invalidates: [membersKey(id)],
    onDone: () => {
      notice('Member removed');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Remove ${member.name}?`}
      confirm="Remove member"
      onConfirm={() => remove.run(undefined)}
      onClose={onClose}
      pending={remove.pending}
      error={remove.error}
    >
      {member.email} loses access to {organization} at once. API keys that this member created keep working, and
      invitations that this member sent are withdrawn.
    </ConfirmDialog>
  );
}
