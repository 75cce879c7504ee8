import { useQuery } from '@tanstack/react-query';
import { usageSeriesQuery } from '../../api/usage';
import { usageView } from '../../api/usage-search';
import { useOrganization } from '../../app/use-session';
import { Card } from '../../ui/card';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { UsageChart } from '../usage/usage-chart';
import { groupLabel } from '../usage/usage-words';

/** Cost of thirty days, by day and model. */
export function CostCard() {
  const { id } = useOrganization();
  const { from, interval } = usageView({ range: '30d' });
  const series = useQuery(usageSeriesQuery(id, { from, interval, group_by: 'model' }));
  return (
    <Card title="Cost by day and model" description="Last 30 days, UTC">
      <QueryView query={series} loading={<Skeleton className="h-80 w-full" />}>
        {(data) => <UsageChart series={data} metric="cost" labelOf={(model) => groupLabel(model, 'model', String)} />}
      </QueryView>
    </Card>
  );
}
