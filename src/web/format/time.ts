/** The zone in which moments are shown. Days, months and buckets of usage are always UTC. */
export type TimeZone = 'local' | 'utc';

const moments: Readonly<Record<TimeZone, Intl.DateTimeFormat>> = {
  local: momentFormat(undefined),
  utc: momentFormat('UTC'),
};
const offsets: Readonly<Record<TimeZone, Intl.DateTimeFormat>> = {
  local: new Intl.DateTimeFormat('en', { timeZoneName: 'short' }),
  utc: new Intl.DateTimeFormat('en', { timeZone: 'UTC', timeZoneName: 'short' }),
};
const days = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' });
const months = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', month: 'long', year: 'numeric' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

function momentFormat(timeZone: string | undefined): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
}

/** Whether the value is a moment as the API writes it, for example `2026-11-23T14:05:09.000Z`. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value);
}

/** `2026-11-23 14:05:09` in the given zone. */
export function formatMoment(time: string, zone: TimeZone): string {
  return moments[zone].format(new Date(time));
}

/** The name of the zone, right in summer and in winter, for the head of a column: `UTC`, `Europe/Berlin`. */
export function zoneName(zone: TimeZone): string {
  return zone === 'utc' ? 'UTC' : moments.local.resolvedOptions().timeZone.replaceAll('_', ' ');
}

/** `2026-11-23 14:05:09 GMT+1` in the given zone. */
export function formatZonedMoment(time: string, zone: TimeZone): string {
  return `${formatMoment(time, zone)} ${offsetName(time, zone)}`;
}

/** What the clocks of the zone differ from UTC at that moment: `UTC`, `GMT+1`. */
function offsetName(time: string, zone: TimeZone): string {
  return offsets[zone].formatToParts(new Date(time)).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** `23 Nov 2026`, the day in UTC. */
export function formatDay(time: string): string {
  return days.format(new Date(time));
}

/** `November 2026`, the month in UTC. */
export function formatMonth(time: string): string {
  return months.format(new Date(time));
}

const STEPS: ReadonlyArray<readonly [Intl.RelativeTimeFormatUnit, number]> = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** `3 hours ago`, `in 2 minutes`. */
export function formatRelative(time: string, nowMs = Date.now()): string {
  const seconds = Math.round((new Date(time).getTime() - nowMs) / 1000);
  const [unit, length] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / length), unit);
}

/** The start of the day of UTC that lies `daysBack` days before now, ISO 8601. */
export function startOfUtcDay(daysBack = 0, nowMs = Date.now()): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - daysBack)).toISOString();
}

/** The start of this month in UTC, ISO 8601. */
export function startOfUtcMonth(nowMs = Date.now()): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString();
}

/** The `max` of `<input type="datetime-local">`: without one, its year has up to six digits. */
export const LATEST_UTC_INPUT = '9999-12-31T23:59';

/** A moment in the form that `<input type="datetime-local">` takes, in UTC. */
export function toUtcInput(time: string): string {
  return new Date(time).toISOString().slice(0, 16);
}

/** ISO 8601 of the value of `<input type="datetime-local">`, read as UTC. */
export function fromUtcInput(value: string): string {
  return new Date(`${value}Z`).toISOString();
}
