import { parseRetryAfter } from './retry-after';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

describe('parseRetryAfter', () => {
  it.each([
    ['seconds', { 'retry-after': '7' }, 7],
    ['a fraction', { 'retry-after': '0.2' }, 1],
    ['zero', { 'retry-after': '0' }, 1],
    ['a negative number', { 'retry-after': '-5' }, 1],
    ['1e9', { 'retry-after': '1e9' }, 3600],
    ['an HTTP date', { 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' }, 30],
    ['a date in the past', { 'retry-after': 'Thu, 01 Jan 2026 11:00:00 GMT' }, 1],
    ['a date far away', { 'retry-after': 'Fri, 01 Jan 2038 12:00:00 GMT' }, 3600],
    ['milliseconds, which win', { 'retry-after-ms': '1500', 'retry-after': '60' }, 2],
    ['garbage', { 'retry-after': 'soon' }, undefined],
    ['words that a lenient date parser would accept', { 'retry-after': 'in 5 minutes' }, undefined],
    ['not a number', { 'retry-after': 'NaN' }, undefined],
    ['infinity', { 'retry-after': 'Infinity' }, undefined],
    ['an empty value', { 'retry-after': ' ' }, undefined],
    ['a repeated header', { 'retry-after': ['1', '2'] }, undefined],
    ['nothing', {}, undefined],
  ])('reads %s', (_name, headers, expected) => {
    expect(parseRetryAfter(headers, NOW)).toBe(expected);
  });
});
