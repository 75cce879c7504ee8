import type { UsageGrouping, UsageInterval } from '../../contract/dashboard';
import { dayOf, oneOf } from '../app/search-values';
import { isTime, TIMES, type Time } from '../format/latency';
import { METRICS, type Metric } from '../format/series';
import { startOfUtcDay } from '../format/time';

export const GROUPINGS = [
  'none',
  'model',
  'key',
  'modality',
  'operation',
  'status',
  'error_code',
] as const satisfies readonly UsageGrouping[];
const RANGES = ['24h', '7d', '30d', '90d', '12m'] as const;
const LOOKS = ['columns', 'lines'] as const;
/** What the page can show. */
export const SHOWN = [...METRICS, ...TIMES] as const;
export type UsageRange = (typeof RANGES)[number];

/** The view of the usage page, as in its address; absent fields have their defaults. */
export interface UsageSearch {
  readonly metric?: Metric | Time;
  readonly group?: UsageGrouping;
  readonly range?: UsageRange;
  /** First and last day, both included, instead of a range. */
  readonly from?: string;
  readonly to?: string;
  readonly interval?: UsageInterval;
  readonly look?: 'columns' | 'lines';
}

const DAYS: Readonly<Record<UsageRange, number>> = { '24h': 1, '7d': 7, '30d': 30, '90d': 90, '12m': 365 };
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The most of the API is 750 buckets. */
const MOST_DAYS_BY_HOUR = 31;

export function usageSearch(search: Record<string, unknown>): UsageSearch {
  return {
    metric: oneOf(search.metric, SHOWN),
    group: oneOf(search.group, GROUPINGS),
    range: oneOf(search.range, RANGES),
    from: dayOf(search.from),
    to: dayOf(search.to),
    interval: oneOf(search.interval, ['hour', 'day'] as const),
    look: oneOf(search.look, LOOKS),
  };
}

/** The view with defaults, and what the API is asked for. */
export interface UsageView {
  readonly metric: Metric | Time;
  readonly group: UsageGrouping;
  readonly range: UsageRange | 'days';
  readonly interval: UsageInterval;
  /** Whether the period is short enough to show hours. */
  readonly mayShowHours: boolean;
  readonly look: 'columns' | 'lines';
  readonly from: string;
  /** Exclusive; absent: now. */
  readonly to: string | undefined;
}

export function usageView(search: UsageSearch, nowMs = Date.now()): UsageView {
  const { metric = 'cost', look = 'columns' } = search;
  const group = groupOf(metric, search.group);
  const range = search.from === undefined ? (search.range ?? '30d') : 'days';
  const { from, to, days } = periodOf(search, range, nowMs);
  const mayShowHours = days <= MOST_DAYS_BY_HOUR;
  const interval = mayShowHours ? (search.interval ?? (days <= 2 ? 'hour' : 'day')) : 'day';
  return { metric, group, look, range, interval, mayShowHours, from, to };
}

/** Times are counted by model and not by key. */
function groupOf(metric: Metric | Time, group: UsageGrouping = isTime(metric) ? 'none' : 'model'): UsageGrouping {
  return isTime(metric) && group === 'key' ? 'none' : group;
}

function periodOf(search: UsageSearch, range: UsageRange | 'days', nowMs: number) {
  if (range === 'days') {
    const from = search.from ?? '';
    const days = search.to === undefined ? undefined : (Date.parse(search.to) - Date.parse(from)) / DAY_MS + 1;
    const to = search.to === undefined ? undefined : new Date(Date.parse(search.to) + DAY_MS).toISOString();
    return { from, to, days: days ?? Math.ceil((nowMs - Date.parse(from)) / DAY_MS) };
  }
  const days = DAYS[range];
  // Twenty-four whole hours with the current one; days with today.
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS - 23 * HOUR_MS;
  return {
    from: range === '24h' ? new Date(hourMs).toISOString() : startOfUtcDay(days - 1, nowMs),
    to: undefined,
    days,
  };
}
