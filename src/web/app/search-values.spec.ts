import { dayOf, momentOf } from './search-values';

/** What the API takes as a day or a time, and what it refuses with 400. */
const TAKEN = ['2026-02-28', '2028-02-29', '2000-01-01', '2199-12-30'];
const REFUSED = [
  '2026-02-31',
  '2026-02-29',
  '2026-00-10',
  '2026-13-01',
  '1999-12-31',
  '2200-01-01',
  '2026-2-1',
  '',
  20,
];

it('keeps days of the calendar and ignores all others', () => {
  expect(TAKEN.map(dayOf)).toEqual(TAKEN);
  expect(REFUSED.map(dayOf)).toEqual(REFUSED.map(() => undefined));
});

it('keeps the times that the API takes and ignores all others', () => {
  const times = [...TAKEN, '2026-11-23T14:25Z', '2026-11-23T14:25:00.123Z', '2026-11-23T14:25:00+02:00'];
  expect(times.map(momentOf)).toEqual(times);
  const refused = [...REFUSED, '2026-02-31T00:00:00Z', '2026-11-23T25:00:00Z', '2026-11-23T14:25:00', 'May 1', '7'];
  expect(refused.map(momentOf)).toEqual(refused.map(() => undefined));
});
