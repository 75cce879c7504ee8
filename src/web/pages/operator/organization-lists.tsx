import { useInfiniteQuery } from '@tanstack/react-query';
import type { ApiKey, Member } from '../../../contract/dashboard';
import { operatorApiKeysQuery, operatorMembersQuery, operatorOrganizationPurchasesQuery } from '../../api/operator';
import { Amount } from '../../ui/amount';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Ago, Moment, TimeHead } from '../../ui/moment';
import { LoadMore } from '../../ui/pager';
import { KeyBadge, KeyEnds } from '../keys/key-badge';
import { ListView } from './list-view';
import { purchaseColumns } from './purchase-columns';

interface ListProps {
  readonly organizationId: string;
}

const MEMBER_COLUMNS: ReadonlyArray<Column<Member>> = [
  {
    id: 'name',
    head: 'Name',
    cell: ({ name, email }) => (
      <span className="wrap-anywhere">
        {name} <span className="block text-muted">{email}</span>
      </span>
    ),
  },
  { id: 'role', head: 'Role', cell: ({ role }) => role },
  { id: 'joined', head: 'Joined', cell: ({ joined_at }) => <Ago time={joined_at} />, priority: 'middle' },
];

export function OrganizationMembers({ organizationId }: ListProps) {
  const query = useInfiniteQuery(operatorMembersQuery(organizationId));
  return (
    <Card title="Members" flush>
      <ListView query={query}>
        {(members) => (
          <DataTable
            label="Members"
            columns={MEMBER_COLUMNS}
            rows={members}
            rowKey={({ user_id }) => user_id}
            empty={<Empty title="No members">No user can act for this organization.</Empty>}
          />
        )}
      </ListView>
      <LoadMore query={query} />
    </Card>
  );
}

const KEY_COLUMNS: ReadonlyArray<Column<ApiKey>> = [
  {
    id: 'name',
    head: 'Name',
    cell: (apiKey) => (
      <span className="wrap-anywhere">
        {apiKey.name ?? 'unnamed'}{' '}
        <span className="block">
          <KeyEnds apiKey={apiKey} />
        </span>
      </span>
    ),
  },
  { id: 'state', head: 'State', cell: (apiKey) => <KeyBadge apiKey={apiKey} /> },
  { id: 'used', head: 'Last used (UTC)', cell: ({ last_used_on }) => last_used_on ?? 'never', priority: 'low' },
  {
    id: 'spent',
    head: 'Month (UTC)',
    end: true,
    cell: ({ use }) => <Amount micro={use.month_spent_micro} />,
    priority: 'middle',
  },
];

export function OrganizationKeys({ organizationId }: ListProps) {
  const query = useInfiniteQuery(operatorApiKeysQuery(organizationId));
  return (
    <Card title="API keys" flush>
      <ListView query={query}>
        {(keys) => (
          <DataTable
            label="API keys"
            columns={KEY_COLUMNS}
            rows={keys}
            rowKey={({ id }) => id}
            empty={<Empty title="No API keys">Keys that members create appear here, without their secrets.</Empty>}
          />
        )}
      </ListView>
      <LoadMore query={query} />
    </Card>
  );
}

export function OrganizationPurchases({ organizationId }: ListProps) {
  const query = useInfiniteQuery(operatorOrganizationPurchasesQuery(organizationId));
  return (
    <Card title="Purchases" flush>
      <ListView query={query}>
        {(purchases) => (
          <DataTable
            label="Purchases"
            columns={[
              {
                id: 'time',
                head: <TimeHead label="Ordered" />,
                cell: ({ created_at }) => <Moment time={created_at} />,
              },
              ...purchaseColumns,
            ]}
            rows={purchases}
            rowKey={({ id }) => id}
            empty={<Empty title="No purchases">Credit that this organization buys appears here.</Empty>}
          />
        )}
      </ListView>
      <LoadMore query={query} />
    </Card>
  );
}
