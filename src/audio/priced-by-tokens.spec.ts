import { compilePrice } from '../billing/pricing/price';
import { NO_USAGE } from '../providers/contract/usage';
import { paidUsage } from './priced-by-tokens';

const BY_TEXT = compilePrice({ speech: { per_1k_chars_micro: 1 }, unit: { per_unit_micro: 1 } });
const BY_TOKENS = compilePrice({ tokens: { per_1m_micro: { input: 1, output: 1 } }, unit: { per_unit_micro: 1 } });

describe('paidUsage', () => {
  const known = { ...NO_USAGE, characters: 100 };

  it('charges fewer characters if the provider reports fewer, but never more than the text has', () => {
    expect(paidUsage({ ...NO_USAGE, characters: 80 }, known, BY_TEXT)).toEqual({ ...NO_USAGE, characters: 80 });
    expect(paidUsage({ ...NO_USAGE, characters: 120 }, known, BY_TEXT)).toEqual(known);
  });

  it('charges the text when the provider reports no characters', () => {
    expect(paidUsage(null, known, BY_TEXT)).toEqual(known);
    expect(paidUsage(NO_USAGE, known, BY_TEXT)).toEqual(known);
  });

  it("keeps the vendor's bill, which stands in for tokens only where the price charges it", () => {
    const billed = { ...NO_USAGE, units: 2 };
    expect(paidUsage(billed, known, BY_TEXT)).toEqual({ ...known, units: 2 });
    expect(paidUsage(billed, known, BY_TOKENS)).toEqual({ ...known, units: 2 });
    expect(paidUsage({ ...NO_USAGE, vendorCostMicro: 2 }, known, BY_TOKENS)).toBeNull();
  });
});
