import { useQuery } from '@tanstack/react-query';
import { useKeyLabels } from '../../api/keys';
import { usageSeriesQuery } from '../../api/usage';
import { usageView } from '../../api/usage-search';
import { useOrganization } from '../../app/use-session';
import { formatCount } from '../../format/count';
import { formatTenths } from '../../format/money';
import { groupRows, OTHER } from '../../format/series';
import { Amount } from '../../ui/amount';
import { ButtonLink } from '../../ui/button';
import { Card } from '../../ui/card';
import { DataTable } from '../../ui/data-table';
import { QueryView } from '../../ui/query-view';
import { SkeletonRows } from '../../ui/skeleton';

const SHOWN = 5;

/** The keys that cost most in thirty days. */
export function KeysCard() {
  const { id } = useOrganization();
  const keyLabel = useKeyLabels(id);
  const { from, interval } = usageView({ range: '30d' });
  const series = useQuery(usageSeriesQuery(id, { from, interval, group_by: 'key' }));
  return (
    <Card
      title="Most expensive keys"
      description="Last 30 days, UTC"
      flush
      actions={
        <ButtonLink small to="/o/$org/usage" params={{ org: id }} search={{ group: 'key' }}>
          All keys
        </ButtonLink>
      }
    >
      <QueryView query={series} loading={<SkeletonRows rows={SHOWN} />}>
        {(data) => (
          <DataTable
            label="Most expensive keys"
            rows={groupRows(data, 'cost')
              .filter(({ name }) => name !== OTHER)
              .slice(0, SHOWN)}
            rowKey={({ name }) => name}
            rowLink={({ name }) => ({ to: '/o/$org/keys/$key', params: { org: id, key: name } })}
            empty={<p className="px-4 pb-4 text-muted sm:px-5">No requests in this period.</p>}
            columns={[
              {
                id: 'key',
                head: 'API key',
                cell: ({ name }) => <span className="wrap-anywhere">{keyLabel(name)}</span>,
              },
              { id: 'requests', head: 'Requests', end: true, cell: ({ sums }) => formatCount(sums.requests) },
              {
                id: 'share',
                head: 'Share',
                end: true,
                priority: 'middle',
                cell: ({ shareTenths }) => formatTenths(shareTenths),
              },
              { id: 'cost', head: 'Cost', end: true, cell: ({ sums }) => <Amount micro={sums.cost_micro} /> },
            ]}
          />
        )}
      </QueryView>
    </Card>
  );
}
