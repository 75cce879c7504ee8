import type { UsageSeries } from '../../../contract/dashboard';
import { formatDuration } from '../../format/count';
import { latencyLines, latencySummary, type LatencyLine, type Time } from '../../format/latency';
import { axisTicks, formatBucket } from '../../format/series';
import { Chart } from '../../ui/chart/chart';
import { seriesColor } from '../../ui/chart/chart-data';
import { DataTable, type Column } from '../../ui/data-table';
import { METRIC_WORDS } from './usage-words';

interface LatencyChartProps {
  readonly series: UsageSeries;
  readonly time: Time;
  readonly labelOf: (group: string) => string;
}

/** How long successful requests took, over time. */
export function LatencyChart({ series, time, labelOf }: LatencyChartProps) {
  const { interval, group_by: grouping } = series;
  const lines = latencyLines(series, time).map((line) => ({
    ...line,
    label: grouping === 'none' ? QUANTILE_WORDS[line.name === 'p50' ? 'p50' : 'p95'] : labelOf(line.name),
  }));
  const starts = series.data[0]?.buckets.map(({ starts_at: start }) => start) ?? [];
  const longest = lines.flatMap(({ values }) => values).reduce<bigint>((most, each) => larger(most, each ?? 0n), 0n);
  const label = `${METRIC_WORDS[time]} by ${interval}`;
  return (
    <Chart
      label={label}
      look="lines"
      summary={latencySummary(series, time)}
      data={{
        buckets: starts.map((start) => formatBucket(start, interval)),
        series: lines
          .filter(({ whole }) => whole !== null)
          .map(({ label: name, values, whole }, rank) => ({
            label: name,
            color: seriesColor(rank),
            values,
            total: whole ?? 0n,
          })),
        ticks: axisTicks(longest),
        format: formatMs,
        formatTick: formatMs,
      }}
      table={<LatencyTable label={`${label} as a table`} series={series} starts={starts} lines={lines} />}
    />
  );
}

const QUANTILE_WORDS = { p50: 'Median', p95: '95% within' } as const;

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function formatMs(milliseconds: bigint): string {
  return formatDuration(Number(milliseconds));
}

interface LatencyTableProps {
  readonly label: string;
  readonly series: UsageSeries;
  readonly starts: readonly string[];
  readonly lines: readonly (LatencyLine & { readonly label: string })[];
}

/** The chart as numbers: a row for each bucket. */
function LatencyTable({ label, series: { interval }, starts, lines }: LatencyTableProps) {
  const columns: Column<number>[] = [
    {
      id: 'bucket',
      head: interval === 'day' ? 'Day (UTC)' : 'Hour (UTC)',
      cell: (index) => <span className="whitespace-nowrap">{formatBucket(starts[index] ?? '', interval)}</span>,
    },
    ...lines.map(({ name, label: head, values }): Column<number> => ({
      id: `line ${name}`,
      head,
      end: true,
      cell: (index) => {
        const value = values[index] ?? null;
        return value === null ? '–' : formatMs(value);
      },
    })),
  ];
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={starts.map((_, index) => index)}
      rowKey={(index) => starts[index] ?? ''}
    />
  );
}
