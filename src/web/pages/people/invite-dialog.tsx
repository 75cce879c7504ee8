import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { InvitationCreation } from '../../../contract/dashboard';
import { aboutQuery } from '../../api/about';
import { api, unwrap } from '../../api/client';
import { membersKey } from '../../api/people';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ChangeForm, SelectField, TextField } from '../../ui/form';
import { useChange } from '../../ui/use-change';
import { grantableRoles, ROLE_TEXTS, toRole } from './roles';

/** Sends an invitation, or renews that of the same address. */
export function useInvite(onDone?: () => void) {
  const { id } = useOrganization();
  const notice = useNotice();
  return useChange({
    change: (body: InvitationCreation) =>
      unwrap(
        api.POST('/dashboard/api/organizations/{organization_id}/invitations', {
          params: { path: { organization_id: id } },
          body,
        }),
      ),
    invalidates: [membersKey(id)],
    onDone: ({ email }) => {
      notice(`Invitation sent to ${email}`);
      onDone?.();
    },
  });
}

export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const { role: ownRole, name } = useOrganization();
  const mail = useQuery(aboutQuery).data?.mail;
  const [role, setRole] = useState(toRole('developer'));
  const invite = useInvite(onClose);
  return (
    <Dialog title={`Invite to ${name}`} onClose={onClose}>
      <p className="mb-4 text-muted">
        We send a mail with a link. It works once, within seven days, for this address only.
      </p>
      {mail?.destination === 'none' && (
        <Banner tone="warn" title="This gateway does not send e-mail">
          Its operator can create an account that is a member of this organization.
        </Banner>
      )}
      {mail?.destination === 'folder' && (
        <Banner tone="neutral">Mails are not sent, but written to {mail.folder} on the gateway’s machine.</Banner>
      )}
      <ChangeForm
        fields={['email', 'role']}
        submit="Send invitation"
        pending={invite.pending}
        error={invite.error}
        disabled={mail?.destination === 'none'}
        onSubmit={({ email = '' }) => invite.run({ email, role })}
        actions={<Button onClick={onClose}>Cancel</Button>}
      >
        <TextField name="email" label="E-mail" type="email" required maxLength={254} autoComplete="off" autoFocus />
        <SelectField
          name="role"
          label="Role"
          hint={ROLE_TEXTS[role]}
          options={grantableRoles(ownRole)}
          value={role}
          onChange={(value) => setRole(toRole(value))}
        />
      </ChangeForm>
    </Dialog>
  );
}
