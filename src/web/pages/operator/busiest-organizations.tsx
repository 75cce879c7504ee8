import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { UsageGroup } from '../../../contract/dashboard';
import { operatorOrganizationQuery, platformUsageQuery } from '../../api/operator';
import { formatCount } from '../../format/count';
import { formatTenths, nearestShareInTenths } from '../../format/money';
import { errorTenths } from '../../format/series';
import { Amount } from '../../ui/amount';
import { Card } from '../../ui/card';
import { DataTable, type Column } from '../../ui/data-table';
import { Empty } from '../../ui/empty';
import { QueryView } from '../../ui/query-view';

const SHOWN = 8;
const OTHERS = 'other';

/** The organizations that paid most in the last 30 days. */
export function BusiestOrganizations() {
  const query = useQuery(platformUsageQuery({ interval: 'day', group_by: 'organization' }));
  return (
    <Card title="Busiest organizations" description="The last 30 days (UTC), most expensive first." flush>
      <QueryView query={query}>
        {({ data, total }) => (
          <DataTable
            label="Busiest organizations"
            columns={columnsFor(BigInt(total.cost_micro))}
            rows={data.filter(({ group }) => group !== OTHERS).slice(0, SHOWN)}
            rowKey={({ group }) => group}
            empty={<Empty title="No requests yet">Organizations appear here with their first request.</Empty>}
          />
        )}
      </QueryView>
    </Card>
  );
}

function columnsFor(totalMicro: bigint): ReadonlyArray<Column<UsageGroup>> {
  return [
    { id: 'name', head: 'Organization', cell: ({ group }) => <OrganizationLink id={group} /> },
    { id: 'requests', head: 'Requests', end: true, cell: ({ total }) => formatCount(total.requests) },
    {
      id: 'errors',
      head: 'Errors',
      end: true,
      priority: 'middle',
      cell: ({ total }) => formatTenths(errorTenths(total)),
    },
    { id: 'cost', head: 'Cost', end: true, cell: ({ total }) => <Amount micro={total.cost_micro} /> },
    {
      id: 'share',
      head: 'Share',
      end: true,
      priority: 'middle',
      cell: ({ total }) => formatTenths(nearestShareInTenths(BigInt(total.cost_micro), totalMicro)),
    },
  ];
}

function OrganizationLink({ id }: { readonly id: string }) {
  const name = useQuery({ ...operatorOrganizationQuery(id), staleTime: 60_000 }).data?.name;
  return (
    <Link to="/operator/organizations/$org" params={{ org: id }} className="link font-medium wrap-anywhere">
      {name ?? id}
    </Link>
  );
}
