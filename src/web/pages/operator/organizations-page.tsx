import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { OperatorOrganization, OrganizationStatus } from '../../../contract/dashboard';
import { operatorOrganizationsQuery } from '../../api/operator';
import { isFiltered } from '../../app/search-values';
import { Amount } from '../../ui/amount';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { Ago } from '../../ui/moment';
import { PageHeader } from '../../ui/page-header';
import { LoadMore } from '../../ui/pager';
import { SearchBox } from '../../ui/search-box';
import { Select } from '../../ui/select';
import { OrganizationBadge } from './badges';
import { ListView } from './list-view';

const COLUMNS: ReadonlyArray<Column<OperatorOrganization>> = [
  {
    id: 'name',
    head: 'Name',
    cell: ({ name }) => (
      <span className="block max-w-28 truncate sm:max-w-64 xl:max-w-80" title={name}>
        {name}
      </span>
    ),
  },
  { id: 'status', head: 'State', cell: ({ status }) => <OrganizationBadge status={status} /> },
  { id: 'balance', head: 'Balance', end: true, cell: ({ balance_micro }) => <Amount micro={balance_micro} /> },
  {
    id: 'held',
    head: 'Held',
    end: true,
    priority: 'middle',
    cell: ({ reserved_micro }) => <Amount micro={reserved_micro} />,
  },
  {
    id: 'limit',
    head: 'Monthly limit',
    end: true,
    priority: 'low',
    cell: ({ monthly_limit_micro: limit }) =>
      limit === null ? <span className="text-muted">none</span> : <Amount micro={limit} />,
  },
  {
    id: 'created',
    head: 'Created',
    end: true,
    priority: 'middle',
    cell: ({ created_at }) => <Ago time={created_at} />,
  },
];

export function OrganizationsPage() {
  const search = useSearch({ from: '/signed-in/operator/organizations' });
  const navigate = useNavigate({ from: '/operator/organizations' });
  const query = useInfiniteQuery(operatorOrganizationsQuery(search));
  return (
    <>
      <PageHeader title="Organizations" description="All customers of this platform, newest first." />
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <SearchBox
          label="Search by name"
          value={search.search ?? ''}
          onChange={(text) => void navigate({ search: { ...search, search: text || undefined }, replace: true })}
        />
        <Select
          label="State"
          value={search.status ?? ''}
          options={[
            ['', 'all'],
            ['active', 'active'],
            ['suspended', 'suspended'],
          ]}
          onChange={(status) =>
            void navigate({ search: { ...search, status: (status || undefined) as OrganizationStatus | undefined } })
          }
        />
      </div>
      <Card flush>
        <ListView query={query}>
          {(rows) => (
            <DataTable
              label="Organizations"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              rowLink={({ id }) => ({ to: '/operator/organizations/$org', params: { org: id } })}
              empty={
                <Empty title={isFiltered(search) ? 'No organization matches' : 'No organizations yet'}>
                  {isFiltered(search)
                    ? 'Search for another part of the name, or for all states.'
                    : 'Each customer is an organization. People create one when they register.'}
                </Empty>
              }
            />
          )}
        </ListView>
        <LoadMore query={query} />
      </Card>
    </>
  );
}
