import type { UsageSeries } from '../../contract/dashboard';
import { formatDuration } from './count';
import { formatBucket, OTHER, SHOWN_GROUPS } from './series';

/** Times of successful requests: to the first byte of the reply, and to its end. */
export const TIMES = ['first_token_ms', 'total_ms'] as const;
export type Time = (typeof TIMES)[number];

export function isTime(metric: string): metric is Time {
  return TIMES.some((time) => time === metric);
}

/** Milliseconds of one line; null where no request was counted. */
export interface LatencyLine {
  /** `p50` or `p95` of all requests, else the group whose median it is. */
  readonly name: string;
  readonly values: readonly (bigint | null)[];
  /** Of the whole period. */
  readonly whole: bigint | null;
}

/** Median and 95 % of ungrouped requests; the medians of at most eight groups otherwise. */
export function latencyLines({ group_by: grouping, data }: UsageSeries, time: Time): readonly LatencyLine[] {
  const lineOf = (group: UsageSeries['data'][number], name: string, quantile: 'p50' | 'p95'): LatencyLine => ({
    name,
    values: group.buckets.map((bucket) => toMs(bucket[time]?.[quantile])),
    whole: toMs(group.total[time]?.[quantile]),
  });
  if (grouping === 'none') {
    return data.flatMap((group) => [lineOf(group, 'p50', 'p50'), lineOf(group, 'p95', 'p95')]);
  }
  const named = data.filter(({ group }) => group !== OTHER).slice(0, SHOWN_GROUPS);
  return named.map((group) => lineOf(group, group.group, 'p50')).filter(({ whole }) => whole !== null);
}

function toMs(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value);
}

/** A sentence that says what the lines show. */
export function latencySummary({ total, interval, group_by: grouping, data }: UsageSeries, time: Time): string {
  const whole = total[time];
  if (whole === null) return 'No times were recorded in this period.';
  const text = `Half of the requests within ${formatDuration(whole.p50)}, 95% within ${formatDuration(whole.p95)}`;
  if (grouping !== 'none') return `${text}. Each line is a median.`;
  const buckets = (data[0]?.buckets ?? []).map(({ starts_at: start, [time]: times }) => ({
    start,
    p95: times?.p95 ?? 0,
  }));
  const slowest = buckets.reduce((most, each) => (each.p95 > most.p95 ? each : most));
  return `${text}. Slowest on ${formatBucket(slowest.start, interval)} UTC (95% within ${formatDuration(slowest.p95)}).`;
}
