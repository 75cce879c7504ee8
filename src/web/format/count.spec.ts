import { countOf, formatBytes, formatCount, formatDuration } from './count';

it('counts in words', () => {
  expect([0, 1, 12_345].map((count) => countOf(count, 'request'))).toEqual([
    '0 requests',
    '1 request',
    '12,345 requests',
  ]);
  expect(formatCount(9_007_199_254_740_993n)).toBe('9,007,199,254,740,993');
});

it.each([
  [null, ''],
  [0, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1 s'],
  [1240, '1.24 s'],
  [59_994, '59.99 s'],
  [59_996, '1 min 0 s'],
  [125_000, '2 min 5 s'],
  [3_599_600, '1 h 0 min'],
])('formats %p milliseconds as "%s"', (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});

it.each([
  [1023, '1,023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [1024 ** 2 - 1, '1 MiB'],
  [5 * 1024 ** 4, '5 TiB'],
])('formats %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
