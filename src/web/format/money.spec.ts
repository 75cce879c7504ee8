import { array, assert as assertProperty, bigInt, integer, maxSafeInteger, property } from 'fast-check';
import {
  formatMicro,
  formatSignedMicro,
  formatTenths,
  nearestShareInTenths,
  parseDollars,
  shareInTenths,
  splitAtCents,
  sumMicro,
  toInputDollars,
} from './money';

const amount = () => integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

it.each([
  [0, '$0.00'],
  [1, '$0.000001'],
  [12_300, '$0.0123'],
  [10_000, '$0.01'],
  [1_043_834_000, '$1,043.8340'],
  [9_007_199_254_740_991, '$9,007,199,254.740991'],
  [-12_300, '−$0.0123'],
])('formats %d micro-units as %s', (micro, text) => {
  expect(formatMicro(micro)).toBe(text);
});

it('reads every amount back from its text, which has two, four or six decimals', () => {
  assertProperty(
    property(amount(), (micro) => {
      const text = formatMicro(micro);
      expect(text).toMatch(/^\$\d{1,3}(?:,\d{3})*\.(?:\d{2}|\d{4}|\d{6})$/);
      expect(text).not.toMatch(/\.(?:\d\d|\d{4})00$/);
      expect(parseDollars(text.replaceAll(/[$,]/g, ''))).toBe(micro);
      expect(parseDollars(toInputDollars(micro))).toBe(micro);
      expect(splitAtCents(text).join('')).toBe(text);
    }),
  );
});

it('signs every amount but zero', () => {
  expect([0, 5_000_000, -5_000_000].map((micro) => formatSignedMicro(micro))).toEqual(['$0.00', '+$5.00', '−$5.00']);
});

it('adds amounts without rounding, beyond safe integers', () => {
  assertProperty(
    property(array(maxSafeInteger()), (amounts) => {
      expect(sumMicro(amounts)).toBe(amounts.map(BigInt).reduce((sum, micro) => sum + micro, 0n));
    }),
  );
  expect(sumMicro([Number.MAX_SAFE_INTEGER, 2])).toBe(9_007_199_254_740_993n);
});

it.each(['', '.5', '1.', '1,000', '-1', '1e3', '0.0000001', '9007199254.740992', '１'])(
  'refuses the input "%s"',
  (text) => {
    expect(parseDollars(text)).toBeNull();
  },
);

it('takes whole cents for purchases', () => {
  expect([parseDollars('12.34', 2), parseDollars('12.345', 2)]).toEqual([12_340_000, null]);
});

it('calls no budget full before it is, and gives other shares to the nearest tenth of a percent', () => {
  expect([shareInTenths(9999n, 10_000n), nearestShareInTenths(9999n, 10_000n)]).toEqual([999, 1000]);
  expect([shareInTenths(1n, 0n), nearestShareInTenths(1n, 0n)]).toEqual([null, null]);
  expect([957, 43, 1000, null].map((tenths) => formatTenths(tenths))).toEqual(['95.7%', '4.3%', '100.0%', '']);
  assertProperty(
    property(bigInt({ min: 0n, max: 10n ** 18n }), bigInt({ min: 1n, max: 10n ** 18n }), (part, rest) => {
      const whole = part + rest;
      const distance = BigInt(nearestShareInTenths(part, whole) ?? 0) * whole - part * 1000n;
      expect((distance < 0n ? -distance : distance) * 2n <= whole).toBe(true);
    }),
  );
});
