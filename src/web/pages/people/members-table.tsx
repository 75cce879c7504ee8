import { useState } from 'react';
import type { Member, Role } from '../../../contract/dashboard';
import { useCurrentUser, useOrganization } from '../../app/use-session';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { DataTable, type Column } from '../../ui/data-table';
import { Moment, TimeHead } from '../../ui/moment';
import { ChangeRoleDialog, RemoveMemberDialog } from './member-dialogs';
import { mayManage, memberLabel } from './roles';

interface Opened {
  readonly dialog: 'role' | 'remove';
  readonly member: Member;
}

const ROLE_COLUMN: Column<Member> = {
  id: 'role',
  head: 'Role',
  cell: ({ role }) => <Badge tone={role === 'owner' ? 'accent' : 'neutral'}>{role}</Badge>,
};
const JOINED_COLUMN: Column<Member> = {
  id: 'joined',
  head: <TimeHead label="Joined" />,
  priority: 'low',
  cell: ({ joined_at: time }) => <Moment time={time} />,
};

export function MembersTable({ members }: { readonly members: readonly Member[] }) {
  const { role, may } = useOrganization();
  const { id } = useCurrentUser();
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = (): void => setOpened(null);
  const columns = [nameColumn(id), ROLE_COLUMN, JOINED_COLUMN];
  return (
    <>
      <DataTable
        label="Members"
        columns={may('admin') ? [...columns, actionsColumn(id, role, setOpened)] : columns}
        rows={members}
        rowKey={({ user_id: user }) => user}
      />
      {opened?.dialog === 'role' && <ChangeRoleDialog member={opened.member} onClose={close} />}
      {opened?.dialog === 'remove' && <RemoveMemberDialog member={opened.member} onClose={close} />}
    </>
  );
}

function nameColumn(ownId: string): Column<Member> {
  return {
    id: 'name',
    head: 'Name',
    shrinks: true,
    cell: ({ name, email, user_id: id }) => (
      <div className="min-w-0 md:max-w-80">
        <span className="block truncate font-medium" title={name}>
          {name}
          {id === ownId && <span className="font-normal text-muted"> (you)</span>}
        </span>
        <span className="block truncate text-muted" title={email}>
          {email}
        </span>
      </div>
    ),
  };
}

function actionsColumn(ownId: string, ownRole: Role, onOpen: (opened: Opened) => void): Column<Member> {
  return {
    id: 'actions',
    head: <span className="sr-only">Actions</span>,
    end: true,
    cell: (member) =>
      mayManage(ownRole, member.role) && (
        <div className="flex flex-col items-end justify-end gap-1.5 sm:flex-row">
          <Button small onClick={() => onOpen({ dialog: 'role', member })}>
            Change role<span className="sr-only"> of {memberLabel(member)}</span>
          </Button>
          {member.user_id !== ownId && (
            <Button small onClick={() => onOpen({ dialog: 'remove', member })}>
              Remove<span className="sr-only"> {memberLabel(member)}</span>
            </Button>
          )}
        </div>
      ),
  };
}
