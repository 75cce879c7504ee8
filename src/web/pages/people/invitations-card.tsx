import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Invitation, Role } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { invitationPagesQuery, membersKey } from '../../api/people';
import { ErrorText } from '../../app/failure-view';
import { useNotice } from '../../app/notices';
import { useOrganization } from '../../app/use-session';
import { Badge } from '../../ui/badge';
import { Banner } from '../../ui/banner';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { DataTable, type Column } from '../../ui/data-table';
import { Ago } from '../../ui/moment';
import { LoadMore } from '../../ui/pager';
import { QueryView } from '../../ui/query-view';
import { useChange } from '../../ui/use-change';
import { useInvite } from './invite-dialog';
import { mayManage } from './roles';

const COLUMNS: ReadonlyArray<Column<Invitation>> = [
  {
    id: 'email',
    head: 'E-mail',
    shrinks: true,
    cell: ({ email }) => (
      <span className="block truncate md:max-w-60 xl:max-w-80" title={email}>
        {email}
      </span>
    ),
  },
  { id: 'role', head: 'Role', cell: ({ role }) => <Badge>{role}</Badge> },
  {
    id: 'state',
    head: 'State',
    priority: 'middle',
    cell: ({ status, expires_at: expires }) =>
      status === 'open' ? (
        <span>
          ends <Ago time={expires} />
        </span>
      ) : (
        <Badge tone="warn">Expired</Badge>
      ),
  },
];

interface RowActions {
  readonly ownRole: Role;
  readonly pending: boolean;
  readonly onRenew: (invitation: Invitation) => void;
  readonly onWithdraw: (invitation: Invitation) => void;
}

function actionsColumn({ ownRole, pending, onRenew, onWithdraw }: RowActions): Column<Invitation> {
  return {
    id: 'actions',
    head: <span className="sr-only">Actions</span>,
    end: true,
    cell: (invitation) =>
      mayManage(ownRole, invitation.role) && (
        <div className="flex flex-col items-end justify-end gap-1.5 sm:flex-row">
          <Button small pending={pending} onClick={() => onRenew(invitation)}>
            Send again<span className="sr-only"> to {invitation.email}</span>
          </Button>
          <Button small onClick={() => onWithdraw(invitation)}>
            Withdraw<span className="sr-only"> the invitation of {invitation.email}</span>
          </Button>
        </div>
      ),
  };
}

/** Invitations that were neither accepted nor withdrawn. */
export function InvitationsCard() {
  const { id, role: ownRole } = useOrganization();
  const query = useInfiniteQuery(invitationPagesQuery(id));
  const [withdrawn, setWithdrawn] = useState<Invitation | null>(null);
  const renew = useInvite();
  const actions = actionsColumn({
    ownRole,
    pending: renew.pending,
    onRenew: ({ email, role }) => renew.run({ email, role }),
    onWithdraw: setWithdrawn,
  });
  return (
    <Card flush title="Invitations">
      {renew.error !== null && (
        <div className="px-4 sm:px-5">
          <Banner tone="bad" role="alert">
            <ErrorText error={renew.error} />
          </Banner>
        </div>
      )}
      <QueryView query={query}>
        {({ pages }) => (
          <>
            <DataTable
              label="Invitations"
              columns={[...COLUMNS, actions]}
              rows={pages.flatMap(({ data }) => data)}
              rowKey={({ id: invitation }) => invitation}
              empty={<p className="px-4 pb-4 text-muted sm:px-5">No pending invitations.</p>}
            />
            <LoadMore query={query} />
          </>
        )}
      </QueryView>
      {withdrawn !== null && <WithdrawDialog invitation={withdrawn} onClose={() => setWithdrawn(null)} />}
    </Card>
  );
}

interface WithdrawDialogProps {
  readonly invitation: Invitation;
  readonly onClose: () => void;
}

function WithdrawDialog({ invitation, onClose }: WithdrawDialogProps) {
  const { id } = useOrganization();
  const notice = useNotice();
  const withdraw = useChange({
    change: () =>
      unwrap(
        api.DELETE('/dashboard/api/organizations/{organization_id}/invitations/{invitation_id}', {
          params: { path: { organization_id: id, invitation_id: invitation.id } },
        }),
      ),
    invalidates: [membersKey(id)],
    onDone: () => {
      notice('Invitation withdrawn');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Withdraw the invitation of ${invitation.email}?`}
      confirm="Withdraw invitation"
      onConfirm={() => withdraw.run(undefined)}
      onClose={onClose}
      pending={withdraw.pending}
      error={withdraw.error}
    >
      The link in the mail stops working. You can invite the address again.
    </ConfirmDialog>
  );
}
