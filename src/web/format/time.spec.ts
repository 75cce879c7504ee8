import {
  formatDay,
  formatMoment,
  formatMonth,
  formatRelative,
  fromUtcInput,
  formatZonedMoment,
  startOfUtcDay,
  startOfUtcMonth,
  toUtcInput,
  zoneName,
} from './time';

const LATE = '2026-12-31T23:30:00.000Z';

it('keeps days and months in UTC', () => {
  expect([formatDay(LATE), formatMonth(LATE)]).toEqual(['31 Dec 2026', 'December 2026']);
  expect([
    startOfUtcDay(0, Date.parse(LATE)),
    startOfUtcDay(31, Date.parse(LATE)),
    startOfUtcMonth(Date.parse(LATE)),
  ]).toEqual(['2026-12-31T00:00:00.000Z', '2026-11-30T00:00:00.000Z', '2026-12-01T00:00:00.000Z']);
});

it('writes moments in UTC to the second and reads inputs as UTC', () => {
  expect(formatMoment(LATE, 'utc')).toBe('2026-12-31 23:30:00');
  expect(fromUtcInput(toUtcInput(LATE))).toBe(LATE);
});

it('names UTC and its offset', () => {
  expect([zoneName('utc'), formatZonedMoment(LATE, 'utc')]).toEqual(['UTC', `${formatMoment(LATE, 'utc')} UTC`]);
});

it.each([
  [0, 'now'],
  [-59_000, '59 seconds ago'],
  [-119_000, '1 minute ago'],
  [7_200_000, 'in 2 hours'],
  [-86_400_000, 'yesterday'],
])('says how far %d ms away a moment is', (offsetMs, text) => {
  expect(formatRelative(new Date(Date.parse(LATE) + offsetMs).toISOString(), Date.parse(LATE))).toBe(text);
});
