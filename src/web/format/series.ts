import type { UsageInterval, UsageSeries, UsageSums } from '../../contract/dashboard';
import { formatCount } from './count';
import { BYTE_ORDER_MARK, csvLine } from './csv';
import { formatMicro, formatTenths, nearestShareInTenths } from './money';

export const METRICS = ['cost', 'requests', 'errors', 'input_tokens', 'output_tokens'] as const;
export type Metric = (typeof METRICS)[number];

/** Name of the group that sums up the groups without a column of their own. */
export const OTHER = 'other';

/** Groups with a colour of their own. */
export const SHOWN_GROUPS = 8;
const BUCKET_MS: Readonly<Record<UsageInterval, number>> = { hour: 3_600_000, day: 86_400_000 };

/** The values of one group, a bucket each. */
export interface ColumnGroup {
  readonly name: string;
  readonly values: readonly bigint[];
  readonly total: bigint;
}

/** One metric of a series: buckets by groups. */
export interface Columns {
  /** Start of each bucket, ISO 8601. */
  readonly starts: readonly string[];
  readonly groups: readonly ColumnGroup[];
  /** Of each bucket. */
  readonly totals: readonly bigint[];
  readonly total: bigint;
}

export function valueOf(sums: UsageSums, metric: Metric): bigint {
  return BigInt(metric === 'cost' ? sums.cost_micro : sums[metric]);
}

export function formatValue(value: bigint, metric: Metric): string {
  return metric === 'cost' ? formatMicro(value) : formatCount(value);
}

/** The first eight groups in the order of the reply, and the rest as `other`. */
export function columnsOf(series: UsageSeries, metric: Metric): Columns {
  const all = series.data.map(({ group, total, buckets }): ColumnGroup => ({
    name: group,
    values: buckets.map((bucket) => valueOf(bucket, metric)),
    total: valueOf(total, metric),
  }));
  const named = all.filter(({ name }) => name !== OTHER);
  const rest = [...named.slice(SHOWN_GROUPS), ...all.filter(({ name }) => name === OTHER)];
  const groups = [...named.slice(0, SHOWN_GROUPS), ...(rest.length === 0 ? [] : [sumOf(rest)])];
  const starts = startsOf(series);
  const totals = starts.map((_, index) => groups.reduce((sum, { values }) => sum + (values[index] ?? 0n), 0n));
  return { starts, groups, totals, total: groups.reduce((sum, { total }) => sum + total, 0n) };
}

function sumOf(groups: readonly ColumnGroup[]): ColumnGroup {
  const count = groups[0]?.values.length ?? 0;
  return {
    name: OTHER,
    values: Array.from({ length: count }, (_, index) =>
      groups.reduce((sum, each) => sum + (each.values[index] ?? 0n), 0n),
    ),
    total: groups.reduce((sum, { total }) => sum + total, 0n),
  };
}

/** Also of a series without groups, which has no buckets. */
function startsOf({ from, to, interval }: UsageSeries): readonly string[] {
  const firstMs = Date.parse(from);
  const count = Math.round((Date.parse(to) - firstMs) / BUCKET_MS[interval]);
  return Array.from({ length: count }, (_, index) => new Date(firstMs + index * BUCKET_MS[interval]).toISOString());
}

/** The period of a bucket as `from` and `to` of lists; `to` is exclusive. */
export function bucketPeriod(start: string, interval: UsageInterval): { readonly from: string; readonly to: string } {
  return { from: start, to: new Date(Date.parse(start) + BUCKET_MS[interval]).toISOString() };
}

const days = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });

/** `23 Nov`, or `23 Nov 14:00` for an hour; UTC. */
export function formatBucket(start: string, interval: UsageInterval): string {
  const day = days.format(new Date(start));
  return interval === 'day' ? day : `${day} ${start.slice(11, 16)}`;
}

const STEPS = [1n, 2n, 5n, 10n];

/** Round values of an axis from zero to at least the given value, `most` of them above zero. */
export function axisTicks(highest: bigint, most = 5n): readonly bigint[] {
  let power = 1n;
  while (highest > most * 10n * power) power *= 10n;
  const step = (STEPS.find((each) => highest <= most * each * power) ?? 10n) * power;
  const last = highest <= 0n ? 1n : (highest + step - 1n) / step;
  return Array.from({ length: Number(last) + 1 }, (_, index) => BigInt(index) * step);
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 3 });

/** Exact, because ticks are round: `$0.25`, `250K`. */
export function formatTick(value: bigint, metric: Metric): string {
  return metric === 'cost' ? formatMicro(value) : compact.format(value);
}

/** One line of the table of groups. */
export interface GroupRow {
  readonly name: string;
  readonly sums: UsageSums;
  /** Of the whole, in tenths of a percent. */
  readonly shareTenths: number | null;
  readonly errorTenths: number | null;
}

export function groupRows(series: UsageSeries, metric: Metric): readonly GroupRow[] {
  const whole = valueOf(series.total, metric);
  return series.data.map(({ group, total }) => ({
    name: group,
    sums: total,
    shareTenths: nearestShareInTenths(valueOf(total, metric), whole),
    errorTenths: errorTenths(total),
  }));
}

/** Share of failed requests, in tenths of a percent; null without requests. */
export function errorTenths({ errors, requests }: Pick<UsageSums, 'errors' | 'requests'>): number | null {
  return nearestShareInTenths(BigInt(errors), BigInt(requests));
}

/** A sentence that says what the columns show. */
export function summaryOf(
  { starts, groups, totals, total }: Columns,
  metric: Metric,
  interval: UsageInterval,
  nameOf: (group: string) => string,
): string {
  if (total === 0n) return 'Nothing in this period.';
  const highest = totals.reduce((best, value) => (value > best ? value : best), 0n);
  const start = starts[totals.indexOf(highest)] ?? '';
  const text = `${formatValue(total, metric)} in total, most on ${formatBucket(start, interval)} UTC (${formatValue(highest, metric)})`;
  const [largest] = groups.filter(({ name }) => name !== OTHER).toSorted((a, b) => (a.total < b.total ? 1 : -1));
  if (largest === undefined || groups.length === 1) return `${text}.`;
  return `${text}. Largest share: ${nameOf(largest.name)}, ${formatTenths(nearestShareInTenths(largest.total, total))}.`;
}

const CSV_SUMS = ['requests', 'errors', 'input_tokens', 'output_tokens', 'cost_micro'] as const;
const CSV_TIMES = [
  ['first_token_ms', 'p50'],
  ['first_token_ms', 'p95'],
  ['total_ms', 'p50'],
  ['total_ms', 'p95'],
] as const;

/** All groups and buckets with their integers; amounts are micro-units. */
export function seriesCsv(series: UsageSeries, nameOf: (group: string) => string): string {
  const lines = series.data.flatMap(({ group, buckets }) =>
    buckets.map((bucket) =>
      csvLine([
        bucket.starts_at,
        group,
        nameOf(group),
        ...CSV_SUMS.map((sum) => bucket[sum]),
        ...CSV_TIMES.map(([time, quantile]) => bucket[time]?.[quantile] ?? ''),
      ]),
    ),
  );
  const times = CSV_TIMES.map(([time, quantile]) => time.replace('_ms', `_${quantile}_ms`));
  return BYTE_ORDER_MARK + csvLine(['starts_at', 'group', 'name', ...CSV_SUMS, ...times]) + lines.join('');
}
