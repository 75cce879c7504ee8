import { Link } from '@tanstack/react-router';
import type { UsageSeries, UsageSums } from '../../../contract/dashboard';
import { useOrganization } from '../../app/use-session';
import { formatCount, formatDuration } from '../../format/count';
import { formatTenths } from '../../format/money';
import { isTime, type Time } from '../../format/latency';
import { errorTenths, groupRows, type Metric } from '../../format/series';
import { Amount } from '../../ui/amount';
import { DataTable, type Column } from '../../ui/data-table';
import { GROUP_WORDS, groupColor, groupFilter, METRIC_WORDS } from './usage-words';

interface GroupTableProps {
  readonly series: UsageSeries;
  readonly metric: Metric | Time;
  readonly labelOf: (group: string) => string;
}

interface Line {
  /** Null: the sum of all. */
  readonly group: string | null;
  readonly rank: number;
  readonly sums: UsageSums;
  readonly shareTenths: number | null;
}

/** Every group with its sums and its share of the metric, and the totals. */
export function GroupTable({ series, metric, labelOf }: GroupTableProps) {
  const rows = groupRows(series, isTime(metric) ? 'requests' : metric).map(({ name, ...row }, rank): Line => ({
    group: name,
    rank,
    ...row,
  }));
  const total: Line = { group: null, rank: -1, sums: series.total, shareTenths: null };
  const isGrouped = series.group_by !== 'none';
  const columns: Column<Line>[] = [
    {
      id: 'group',
      head: isGrouped ? GROUP_WORDS[series.group_by] : 'Requests of',
      cell: (line) => <GroupName line={line} series={series} labelOf={labelOf} />,
    },
    ...(isTime(metric) ? timeColumns(metric) : []),
    ...(isGrouped && !isTime(metric)
      ? [
          {
            id: 'share',
            head: `Share of ${METRIC_WORDS[metric].toLowerCase()}`,
            priority: 'middle' as const,
            cell: (line: Line) => <Share line={line} />,
          },
        ]
      : []),
    { id: 'requests', head: 'Requests', end: true, cell: ({ sums }) => formatCount(sums.requests) },
    { id: 'errors', head: 'Errors', end: true, priority: 'middle', cell: ({ sums }) => <Errors sums={sums} /> },
    { id: 'in', head: 'Input tokens', end: true, priority: 'low', cell: ({ sums }) => formatCount(sums.input_tokens) },
    {
      id: 'out',
      head: 'Output tokens',
      end: true,
      priority: 'low',
      cell: ({ sums }) => formatCount(sums.output_tokens),
    },
    { id: 'cost', head: 'Cost', end: true, cell: ({ sums }) => <Amount micro={sums.cost_micro} /> },
  ];
  return (
    <DataTable
      label="Totals"
      columns={columns}
      rows={isGrouped ? [...rows, total] : [total]}
      rowKey={({ group }) => group ?? 'total of all'}
    />
  );
}

function timeColumns(time: Time): Column<Line>[] {
  return (['p50', 'p95'] as const).map((quantile) => ({
    id: quantile,
    head: quantile === 'p50' ? `${METRIC_WORDS[time]}, median` : '95% within',
    end: true,
    cell: ({ sums }) => formatDuration(sums[time]?.[quantile]) || '–',
  }));
}

function GroupName({ line, series, labelOf }: { readonly line: Line } & Omit<GroupTableProps, 'metric'>) {
  const { id } = useOrganization();
  const { group, rank } = line;
  const period = { from: series.from, to: series.to };
  const filter = group === null ? null : groupFilter(group, series.group_by);
  const label = group === null ? 'Total' : labelOf(group);
  return (
    <span className={`flex items-center gap-2 ${group === null ? 'font-semibold' : ''}`}>
      {group !== null && (
        <span
          aria-hidden="true"
          className="size-2.5 shrink-0 rounded-sm"
          style={{ background: groupColor(group, rank) }}
        />
      )}
      {filter === null ? (
        label
      ) : (
        <Link
          to="/o/$org/requests"
          params={{ org: id }}
          search={{ ...period, ...filter }}
          className="link wrap-anywhere"
        >
          {label}
        </Link>
      )}
    </span>
  );
}

function Share({ line: { shareTenths } }: { readonly line: Line }) {
  if (shareTenths === null) return null;
  return (
    <span className="flex items-center gap-3">
      <span aria-hidden="true" className="h-1.5 w-24 overflow-hidden rounded-full bg-sunken">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${shareTenths / 10}%` }} />
      </span>
      <span className="tabular-nums">{formatTenths(shareTenths)}</span>
    </span>
  );
}

function Errors({ sums }: { readonly sums: UsageSums }) {
  if (sums.errors === 0) return '0';
  return (
    <>
      {formatCount(sums.errors)} <span className="text-muted">({formatTenths(errorTenths(sums))})</span>
    </>
  );
}
