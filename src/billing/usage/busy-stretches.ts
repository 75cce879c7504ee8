import type { BusyHour } from './usage-totals.repository';

/** A time interval in milliseconds since the epoch; the end is exclusive. */
export interface Stretch {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

const MINUTE_MS = 60_000;
const MINUTES_OF_HOUR = 60;

/**
 * The minutes with requests, joined into as few stretches as possible.
 * @param hours latest first, like the result.
 */
export function toStretches(hours: readonly BusyHour[]): Stretch[] {
  const stretches: { startsAtMs: number; endsAtMs: number }[] = [];
  for (const { startsAtMs: hourMs, minutes } of hours) {
    for (let minute = MINUTES_OF_HOUR - 1; minute >= 0; minute--) {
      if (((minutes >> BigInt(minute)) & 1n) === 0n) continue;
      const startsAtMs = hourMs + minute * MINUTE_MS;
      const later = stretches.at(-1);
      if (later?.startsAtMs === startsAtMs + MINUTE_MS) later.startsAtMs = startsAtMs;
      else stretches.push({ startsAtMs, endsAtMs: startsAtMs + MINUTE_MS });
    }
  }
  return stretches;
}

/** The shortest prefix of `hours` that may contain this many requests; all hours if there are fewer. */
export function hoursWith(requests: number, hours: readonly BusyHour[]): readonly BusyHour[] {
  let expected = 0;
  const last = hours.findIndex((hour) => (expected += hour.requests) >= requests);
  return last === -1 ? hours : hours.slice(0, last + 1);
}
