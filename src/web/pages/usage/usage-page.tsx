import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { UsageSeries } from '../../../contract/dashboard';
import { useKeyLabels } from '../../api/keys';
import { usageSeriesQuery } from '../../api/usage';
import { usageView, type UsageView } from '../../api/usage-search';
import { useOrganization } from '../../app/use-session';
import { isTime } from '../../format/latency';
import { seriesCsv } from '../../format/series';
import { formatDay } from '../../format/time';
import { Button } from '../../ui/button';
import { Card } from '../../ui/card';
import { Empty } from '../../ui/empty';
import { Download } from '../../ui/icons';
import { PageHeader } from '../../ui/page-header';
import { QueryView } from '../../ui/query-view';
import { saveText } from '../../ui/save-text';
import { Skeleton } from '../../ui/skeleton';
import { GroupTable } from './group-table';
import { LatencyChart } from './latency-chart';
import { UsageChart } from './usage-chart';
import { UsageFilters } from './usage-filters';
import { groupLabel, GROUP_WORDS, METRIC_WORDS } from './usage-words';

/** Cost, requests, tokens and latency over time. */
export function UsagePage() {
  const view = usageView(useSearch({ from: '/signed-in/o/$org/usage' }));
  const organization = useOrganization();
  const { from, to, interval, group } = view;
  const series = useQuery(usageSeriesQuery(organization.id, { from, to, interval, group_by: group }));
  const keyLabel = useKeyLabels(organization.id);
  const labelOf = (name: string): string => groupLabel(name, group, keyLabel);
  return (
    <>
      <PageHeader
        title="Usage"
        description="Hours and days are UTC. Usage is counted when a request ends."
        actions={
          <Button disabled={series.data === undefined} onClick={() => series.data && saveCsv(series.data, labelOf)}>
            <Download size={16} aria-hidden="true" /> CSV
          </Button>
        }
      />
      <UsageFilters view={view} />
      <QueryView query={series} loading={<Skeleton className="h-96 w-full" />}>
        {(data) => <UsageResult series={data} view={view} labelOf={labelOf} />}
      </QueryView>
    </>
  );
}

function saveCsv(series: UsageSeries, labelOf: (group: string) => string): void {
  const name = `usage-${series.from.slice(0, 10)}-by-${series.interval}.csv`;
  saveText(name, 'text/csv;charset=utf-8', seriesCsv(series, labelOf));
}

interface UsageResultProps {
  readonly series: UsageSeries;
  readonly view: UsageView;
  readonly labelOf: (group: string) => string;
}

function UsageResult({ series, view, labelOf }: UsageResultProps) {
  if (series.total.requests === 0) {
    return (
      <Card>
        <Empty title="No requests in this period">
          Choose a longer period, or send a request: it is counted here as soon as it is charged.
        </Empty>
      </Card>
    );
  }
  const metric = METRIC_WORDS[view.metric];
  // The end is exclusive.
  const lastDay = new Date(Date.parse(series.to) - 1).toISOString();
  const by =
    view.group === 'none'
      ? ''
      : ` and ${GROUP_WORDS[view.group].replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())}`;
  return (
    <div className="space-y-5">
      <Card
        title={`${metric} by ${view.interval}${by}`}
        description={`${formatDay(series.from)} to ${formatDay(lastDay)}, UTC`}
      >
        {isTime(view.metric) ? (
          <LatencyChart series={series} time={view.metric} labelOf={labelOf} />
        ) : (
          <UsageChart series={series} metric={view.metric} look={view.look} labelOf={labelOf} />
        )}
      </Card>
      <Card title="Totals" flush>
        <GroupTable series={series} metric={view.metric} labelOf={labelOf} />
      </Card>
    </div>
  );
}
