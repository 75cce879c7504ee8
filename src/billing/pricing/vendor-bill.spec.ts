import * as fc from 'fast-check';
import type { Price } from '../../models/catalog-model';
import { addUsage, NO_USAGE, withoutVendorBill } from '../../providers/contract/usage';
import { compilePrice, sanitizeUsage } from './price';
import { differsFromList } from './vendor-bill';

const rate = fc.nat(2_000_000_000);
/** Millionths, so that the expected cost is exact. */
const millionths = fc.integer({ min: 1, max: 2_000_000_000 });
const ceiling = (of: bigint, by: bigint): bigint => (of + by - 1n) / by;
const ROWS: Price = { image: { rows: [{ per_image_micro: 40_000 }] }, request: { per_request_micro: 7 } };

describe("the charge of a vendor's bill", () => {
  it('is its exact amount at the rate, rounded up once, for units, megapixels and micro-USD', () => {
    fc.assert(
      fc.property(rate, millionths, (each, amount) => {
        const decimal = amount / 1e6;
        const product = BigInt(each) * BigInt(amount);
        const costOf = (price: Price, bill: object) =>
          compilePrice({ ...ROWS, ...price }).costMicro({ ...NO_USAGE, images: 3, ...bill });
        expect(costOf({ unit: { per_unit_micro: each } }, { units: decimal })).toBe(ceiling(product, 1_000_000n));
        expect(costOf({ megapixel: { per_megapixel_micro: each } }, { megapixels: decimal })).toBe(
          ceiling(product, 1_000_000n),
        );
        expect(costOf({ vendor_cost: { per_usd_micro: each } }, { vendorCostMicro: decimal })).toBe(
          ceiling(product, 1_000_000_000_000n),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('is exact for the decimal text of any amount, and rounded up once', () => {
    const digits = fc.bigInt({ min: 1n, max: 999_999_999_999_999n });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000_000_000 }), digits, fc.nat(40), (each, amount, scale) => {
        const units = Number(`${amount}e-${scale}`);
        fc.pre(units <= 2 ** 31);
        const cost = compilePrice({ unit: { per_unit_micro: each } }).costMicro({ ...NO_USAGE, units });
        expect(cost).toBe(ceiling(BigInt(each) * amount, 10n ** BigInt(scale)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [1e-9, 1n],
    [Number.MIN_VALUE, 1n],
    [0.07, 70_000n],
    [1.000_000_1, 1_000_001n],
    [2 ** 31, 2_147_483_648_000_000n],
  ])('of %p units at a dollar is %s micro-units', (units, expected) => {
    const price = compilePrice({ unit: { per_unit_micro: 1_000_000 } });
    expect(price.costMicro({ ...NO_USAGE, units })).toBe(expected);
    expect(price.lines({ ...NO_USAGE, units })).toMatchObject([{ quantity: units, costMicro: expected }]);
  });

  it.each([1e21, -1e-9, Number.NaN, Number.POSITIVE_INFINITY])('is that of the rows for an implausible %p', (units) => {
    const price = compilePrice({ ...ROWS, unit: { per_unit_micro: 1 } });
    expect(price.costMicro(sanitizeUsage({ ...NO_USAGE, images: 2, units }))).toBe(80_007n);
  });

  it('is that of the rows before the call, without a bill, and where the price does not charge bills', () => {
    const price = compilePrice({ ...ROWS, unit: { per_unit_micro: 1 } });
    const billed = { ...NO_USAGE, images: 2, units: 5 };
    expect(price.costMicro(billed)).toBe(5n);
    expect(price.costMicro(billed, { estimate: true })).toBe(80_007n);
    expect(price.costMicro(withoutVendorBill(billed))).toBe(80_007n);
    expect(price.costMicro({ ...billed, units: 0 })).toBe(80_007n);
    expect(compilePrice(ROWS).costMicro(billed)).toBe(80_007n);
    expect([price.isBilledBy(billed), compilePrice(ROWS).isBilledBy(billed)]).toEqual([true, false]);
  });

  it('adds up over several calls', () => {
    const one = { ...NO_USAGE, images: 1, units: 0.5 };
    expect(addUsage(addUsage(NO_USAGE, one), one)).toEqual({ ...NO_USAGE, images: 2, units: 1 });
    expect(addUsage(NO_USAGE, NO_USAGE)).toEqual(NO_USAGE);
    const [tenth, fifth] = [0.1, 0.2].map((amount) => ({ ...NO_USAGE, units: amount, vendorCostMicro: amount }));
    expect(addUsage(tenth ?? one, fifth ?? one)).toEqual({ ...NO_USAGE, units: 0.3, vendorCostMicro: 0.3 });
  });
});

describe('a bill that differs from the list price', () => {
  it.each([
    [105n, 100n, false],
    [106n, 100n, true],
    [95n, 100n, false],
    [94n, 100n, true],
    [1n, 0n, true],
    [0n, 0n, false],
  ])('%s against %s: %s', (billed, listed, expected) => {
    expect(differsFromList(billed, listed)).toBe(expected);
  });
});
