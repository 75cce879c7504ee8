import type { UsageInterval } from '../../contract/dashboard';
import { startOfUtcDay } from '../format/time';
import type { SeriesParameters } from './usage';
import { RANGE_HOURS, type RequestFilters, type RequestSearch } from './request-search';

/** How many requests the filters of the list let through over time, as far as the totals of usage can say. */
export interface RequestVolume {
  /** Null: the period is empty. */
  readonly query: SeriesParameters | null;
  /** The groups of the series that pass the filters; null: all. */
  readonly groups: readonly string[] | null;
  /** Filters that the series does not apply, because no total is counted by them. */
  readonly ignored: ReadonlyArray<keyof RequestFilters>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MOST_HOURS = 48;
const LEAST_HOURS = 24;
/** The most of the API. */
const MOST_DAYS = 750;
const AUDIO = ['speech', 'transcription'];

export function requestVolume(search: RequestSearch, nowMs = Date.now()): RequestVolume {
  const { range: _range, from: _from, to: _to, ...filters } = search;
  const { key_id: keyId, model, status } = filters;
  const [groupBy, groups] = groupsOf(search);
  const applied = new Set<string | undefined>([keyId === undefined ? 'model' : 'key_id', groupBy]);
  // An error code is that of a failure.
  if (groupBy === 'error_code' && status === 'error') applied.add('status');
  const names = Object.keys(filters) as (keyof typeof filters)[];
  const period = periodOf(search, nowMs);
  return {
    query: period && { ...period, group_by: groupBy, ...(keyId === undefined ? { model } : { key_id: keyId }) },
    groups,
    ignored: names.filter((name) => filters[name] !== undefined && !applied.has(name)),
  };
}

/** Totals have one more dimension besides the key or the model, and totals of keys have no operation. */
function groupsOf(search: RequestSearch): readonly [SeriesParameters['group_by'], readonly string[] | null] {
  const { key_id: keyId, error_code: code, operation, modality, status } = search;
  if (code !== undefined) return ['error_code', [code]];
  if (keyId === undefined && operation !== undefined) return ['operation', [operation]];
  if (keyId === undefined && modality !== undefined) return ['modality', modality === 'audio' ? AUDIO : [modality]];
  return ['status', status === undefined ? null : [status]];
}

interface Period {
  readonly from: string;
  readonly to: string | undefined;
  readonly interval: UsageInterval;
}

/** Hours for two days at most, else days; at least a day, which shows the usual volume. */
function periodOf({ range, from, to }: RequestSearch, nowMs: number): Period | null {
  const endMs = range === undefined && to !== undefined ? Date.parse(to) : nowMs;
  const end = range === undefined ? to : undefined;
  const lastDay = (days: number): Period => ({ from: startOfUtcDay(days, endMs - 1), to: end, interval: 'day' });
  if (range === undefined && from === undefined) return lastDay(DEFAULT_DAYS - 1);
  const startMs = range === undefined ? Date.parse(from ?? '') : nowMs - RANGE_HOURS[range] * HOUR_MS;
  if (startMs >= endMs) return null;
  if (endMs - startMs <= MOST_HOURS * HOUR_MS) {
    const dayBeforeMs = Math.ceil(endMs / HOUR_MS) * HOUR_MS - LEAST_HOURS * HOUR_MS;
    const fromMs = Math.min(Math.floor(startMs / HOUR_MS) * HOUR_MS, dayBeforeMs);
    return { from: new Date(range === undefined ? fromMs : dayBeforeMs).toISOString(), to: end, interval: 'hour' };
  }
  const firstMs = Math.max(startMs, Math.ceil(endMs / DAY_MS) * DAY_MS - MOST_DAYS * DAY_MS);
  return { from: startOfUtcDay(0, firstMs), to: end, interval: 'day' };
}
