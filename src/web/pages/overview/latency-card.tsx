import { useQuery } from '@tanstack/react-query';
import { usageSeriesQuery } from '../../api/usage';
import { usageView } from '../../api/usage-search';
import { useOrganization } from '../../app/use-session';
import { Card } from '../../ui/card';
import { QueryView } from '../../ui/query-view';
import { Skeleton } from '../../ui/skeleton';
import { LatencyChart } from '../usage/latency-chart';

/** How long requests of the last 24 hours waited for their first token. */
export function LatencyCard() {
  const { id } = useOrganization();
  const { from } = usageView({ range: '24h' });
  const series = useQuery(usageSeriesQuery(id, { from, interval: 'hour' }));
  return (
    <Card title="First token by hour" description="Last 24 hours, UTC; successful requests">
      <QueryView query={series} loading={<Skeleton className="h-80 w-full" />}>
        {(data) => <LatencyChart series={data} time="first_token_ms" labelOf={String} />}
      </QueryView>
    </Card>
  );
}
