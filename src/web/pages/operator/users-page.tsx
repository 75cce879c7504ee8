import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { OperatorUser } from '../../../contract/dashboard';
import { api, unwrap } from '../../api/client';
import { operatorKeys, usersQuery } from '../../api/operator';
import { useNotice } from '../../app/notices';
import { oneOf } from '../../app/search-values';
import { useCurrentUser } from '../../app/use-session';
import { formatCount } from '../../format/count';
import { Badge } from '../../ui/badge';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { ConfirmDialog } from '../../ui/confirm-dialog';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Ago } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { SearchBox } from '../../ui/search-box';
import { Select } from '../../ui/select';
import { useChange } from '../../ui/use-change';
import { ListView } from './list-view';

const STATES = [
  ['', 'all'],
  ['active', 'active'],
  ['disabled', 'disabled'],
] as const;

export function UsersPage() {
  const search = useSearch({ from: '/signed-in/operator/users' });
  const navigate = useNavigate({ from: '/operator/users' });
  const query = useInfiniteQuery(usersQuery(search));
  const [changing, setChanging] = useState<OperatorUser>();
  const ownId = useCurrentUser().id;
  return (
    <>
      <PageHeader title="Users" description="All accounts of this platform, newest first." />
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <SearchBox
          label="Search by e-mail"
          value={search.search ?? ''}
          onChange={(text) => void navigate({ search: { ...search, search: text || undefined }, replace: true })}
        />
        <Select
          label="State"
          value={search.status ?? ''}
          options={STATES}
          onChange={(value) => void navigate({ search: { ...search, status: oneOf(value, ['active', 'disabled']) } })}
        />
      </div>
      <Card flush>
        <ListView query={query}>
          {(rows) => (
            <DataTable
              label="Users"
              columns={columnsFor(ownId, setChanging)}
              rows={rows}
              rowKey={({ id }) => id}
              empty={
                <Empty title="No user matches">
                  Search for another part of the e-mail address, or show all states.
                </Empty>
              }
            />
          )}
        </ListView>
        <LoadMore query={query} />
      </Card>
      {changing !== undefined && <StatusDialog user={changing} onClose={() => setChanging(undefined)} />}
    </>
  );
}

function columnsFor(ownId: string, onChange: (user: OperatorUser) => void): ReadonlyArray<Column<OperatorUser>> {
  return [
    {
      id: 'user',
      head: 'User',
      cell: ({ name, email, is_operator: isOperator }) => (
        <div className="min-w-0">
          <p className="font-medium wrap-anywhere">
            {name} {isOperator && <Badge tone="accent">operator</Badge>}
          </p>
          <p className="wrap-anywhere text-muted">{email}</p>
        </div>
      ),
    },
    {
      id: 'status',
      head: 'State',
      cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>,
    },
    {
      id: 'verified',
      head: 'Verified',
      priority: 'low',
      cell: ({ email_verified_at }) => <Ago time={email_verified_at} none="not yet" />,
    },
    {
      id: 'login',
      head: 'Last sign-in',
      priority: 'middle',
      cell: ({ last_login_at }) => <Ago time={last_login_at} />,
    },
    {
      id: 'organizations',
      head: 'Organizations',
      end: true,
      priority: 'low',
      cell: ({ organizations }) => formatCount(organizations),
    },
    { id: 'created', head: 'Created', priority: 'low', cell: ({ created_at }) => <Ago time={created_at} /> },
    {
      id: 'action',
      head: <span className="sr-only">Action</span>,
      end: true,
      cell: (user) =>
        user.id === ownId ? (
          <span className="text-muted">you</span>
        ) : (
          <Button small onClick={() => onChange(user)}>
            {user.status === 'active' ? 'Disable' : 'Enable'}
            <span className="sr-only"> {user.email}</span>
          </Button>
        ),
    },
  ];
}

function StatusDialog({ user, onClose }: { readonly user: OperatorUser; readonly onClose: () => void }) {
  const notice = useNotice();
  const disables = user.status === 'active';
  const params = { path: { user_id: user.id } };
  const change = useChange({
    change: () =>
      unwrap(
        disables
          ? api.POST('/dashboard/api/operator/users/{user_id}/disable', { params })
          : api.POST('/dashboard/api/operator/users/{user_id}/enable', { params }),
      ),
    invalidates: [operatorKeys.users, operatorKeys.audit],
    onDone: () => {
      notice(disables ? 'User disabled' : 'User enabled');
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`${disables ? 'Disable' : 'Enable'} ${user.email}?`}
      confirm={disables ? 'Disable user' : 'Enable user'}
      pending={change.pending}
      error={change.error}
      onConfirm={() => change.run(undefined)}
      onClose={onClose}
    >
      {disables
        ? `All sessions of ${user.name} end now, and signing in is refused until the account is enabled again. API keys of organizations keep working.`
        : `${user.name} can sign in again.`}
    </ConfirmDialog>
  );
}
