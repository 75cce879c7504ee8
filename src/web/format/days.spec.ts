import { dayAfter } from './days';

it.each([
  ['2026-11-23', '2026-11-24'],
  ['2026-12-31', '2027-01-01'],
  ['2028-02-28', '2028-02-29'],
])('the day after %s is %s', (day, next) => {
  expect(dayAfter(day)).toBe(next);
});
