import { NO_USAGE } from '../providers/contract/usage';
import { paidUsage } from './priced-by-tokens';

describe('paidUsage', () => {
  const known = { ...NO_USAGE, characters: 100 };

  it('charges fewer characters if the provider reports fewer, but never more than the text has', () => {
    expect(paidUsage({ ...NO_USAGE, characters: 80 }, known, false)).toEqual({ ...NO_USAGE, characters: 80 });
    expect(paidUsage({ ...NO_USAGE, characters: 120 }, known, false)).toEqual(known);
  });

  it('charges the text when the provider reports no characters', () => {
    expect(paidUsage(null, known, false)).toEqual(known);
    expect(paidUsage(NO_USAGE, known, false)).toEqual(known);
  });
});
