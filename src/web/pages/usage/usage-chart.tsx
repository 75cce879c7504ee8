import { useNavigate } from '@tanstack/react-router';
import type { UsageSeries } from '../../../contract/dashboard';
import type { RequestSearch } from '../../api/request-search';
import { useOrganization } from '../../app/use-session';
import {
  axisTicks,
  bucketPeriod,
  columnsOf,
  formatBucket,
  formatTick,
  formatValue,
  summaryOf,
  type Columns,
  type Metric,
} from '../../format/series';
import { Chart } from '../../ui/chart/chart';
import { DataTable, type Column } from '../../ui/data-table';
import { chartSeries, METRIC_WORDS } from './usage-words';

interface UsageChartProps {
  readonly series: UsageSeries;
  readonly metric: Metric;
  readonly look?: 'columns' | 'lines';
  readonly labelOf: (group: string) => string;
  /** Filters of the requests that a column leads to, besides its period. */
  readonly filters?: RequestSearch;
  /** Half as high. */
  readonly low?: boolean;
}

/** One metric over time; a column leads to its requests. */
export function UsageChart({ series, metric, look = 'columns', labelOf, filters, low }: UsageChartProps) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const columns = columnsOf(series, metric);
  const { interval } = series;
  const highest = look === 'columns' ? columns.totals : columns.groups.flatMap(({ values }) => values);
  const data = {
    buckets: columns.starts.map((start) => formatBucket(start, interval)),
    series: chartSeries(columns, labelOf),
    ticks: axisTicks(
      highest.reduce((best, value) => (value > best ? value : best), 0n),
      low === true ? 2n : undefined,
    ),
    format: (value: bigint) => formatValue(value, metric),
    formatTick: (value: bigint) => formatTick(value, metric),
  };
  return (
    <Chart
      label={`${METRIC_WORDS[metric]} by ${interval}`}
      data={data}
      look={look}
      low={low}
      summary={summaryOf(columns, metric, interval, labelOf)}
      table={<BucketTable columns={columns} series={series} metric={metric} labelOf={labelOf} filters={filters} />}
      onPick={(index) => {
        const start = columns.starts[index];
        if (start === undefined) return;
        void navigate({
          to: '/o/$org/requests',
          params: { org: organization.id },
          search: { ...filters, ...bucketPeriod(start, interval) },
        });
      }}
    />
  );
}

interface BucketTableProps {
  readonly columns: Columns;
  readonly series: UsageSeries;
  readonly metric: Metric;
  readonly labelOf: (group: string) => string;
  readonly filters: RequestSearch | undefined;
}

/** The chart as numbers: a row for each bucket. */
function BucketTable({ columns, series, metric, labelOf, filters }: BucketTableProps) {
  const { id } = useOrganization();
  const { interval } = series;
  const groups = columns.groups.length < 2 ? [] : columns.groups;
  const heads: Column<number>[] = [
    {
      id: 'bucket',
      head: interval === 'day' ? 'Day (UTC)' : 'Hour (UTC)',
      cell: (index) => <span className="whitespace-nowrap">{formatBucket(columns.starts[index] ?? '', interval)}</span>,
    },
    { id: 'total', head: 'Total', end: true, cell: (index) => formatValue(columns.totals[index] ?? 0n, metric) },
    ...groups.map(({ name, values }): Column<number> => ({
      id: `group ${name}`,
      head: labelOf(name),
      end: true,
      cell: (index) => formatValue(values[index] ?? 0n, metric),
    })),
  ];
  return (
    <DataTable
      label={`${METRIC_WORDS[metric]} by ${interval} as a table`}
      columns={heads}
      rows={columns.starts.map((_, index) => index)}
      rowKey={(index) => columns.starts[index] ?? ''}
      rowLink={(index) => ({
        to: '/o/$org/requests',
        params: { org: id },
        search: { ...filters, ...bucketPeriod(columns.starts[index] ?? '', interval) },
      })}
    />
  );
}
