import { byMinute, hoursWith, toStretches } from './request-log.service';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

describe('busy stretches', () => {
  it('covers the minutes that have requests, latest first', () => {
    expect(toStretches([{ startsAtMs: HOUR_MS, minutes: 0b1001n, requests: 2 }])).toEqual([
      { startsAtMs: HOUR_MS + 3 * MINUTE_MS, endsAtMs: HOUR_MS + 4 * MINUTE_MS },
      { startsAtMs: HOUR_MS, endsAtMs: HOUR_MS + MINUTE_MS },
    ]);
  });

  it('joins adjacent minutes, also across hours', () => {
    const full = (1n << 60n) - 1n;
    const hours = [
      { startsAtMs: HOUR_MS, minutes: 0b11n, requests: 9 },
      { startsAtMs: 0, minutes: full, requests: 9 },
    ];
    expect(toStretches(hours)).toEqual([{ startsAtMs: 0, endsAtMs: HOUR_MS + 2 * MINUTE_MS }]);
  });

  it('takes only as many hours as needed', () => {
    const hours = [3, 2, 5].map((requests, index) => ({ startsAtMs: -index * HOUR_MS, minutes: 1n, requests }));
    expect(hoursWith(3, hours)).toEqual(hours.slice(0, 1));
    expect(hoursWith(4, hours)).toEqual(hours.slice(0, 2));
    expect(hoursWith(100, hours)).toEqual(hours);
  });

  it('splits hours with many requests into minutes, and estimates how many each has', () => {
    const all = { startsAtMs: HOUR_MS, minutes: 0b1111n, requests: 8_000 };
    expect(byMinute({ startsAtMs: HOUR_MS, minutes: 0b1001n, requests: 2 }, all)).toEqual([
      { startsAtMs: HOUR_MS, minutes: 0b1000n, requests: 2_000 },
      { startsAtMs: HOUR_MS, minutes: 0b1n, requests: 2_000 },
    ]);
    expect(byMinute({ startsAtMs: HOUR_MS, minutes: 0b1000n, requests: 2 }, all)).toHaveLength(1);
    expect(byMinute({ startsAtMs: HOUR_MS, minutes: 0n, requests: 0 }, all)).toEqual([
      { startsAtMs: HOUR_MS, minutes: 0n, requests: 0 },
    ]);
  });
});
