import { NO_USAGE } from '../../providers/contract/usage';
import { sanitizeUsage } from './sanitize-usage';

describe('sanitizeUsage', () => {
  it('returns the same object when the usage is valid', () => {
    const usage = { ...NO_USAGE, inputText: 12, outputText: 2 ** 31, seconds: 1.25 };
    expect(sanitizeUsage(usage)).toBe(usage);
  });

  it.each([
    [-5, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0],
    [Number.NEGATIVE_INFINITY, 0],
    [1.2, 2],
    [1e300, 2 ** 31],
    ['17' as unknown as number, 0],
    [undefined as unknown as number, 0],
    [null as unknown as number, 0],
  ])('corrects a count of %p to %p', (reported, expected) => {
    for (const field of ['inputText', 'outputReasoning', 'images', 'characters'] as const) {
      expect(sanitizeUsage({ ...NO_USAGE, outputText: 3, [field]: reported })).toEqual({
        ...NO_USAGE,
        outputText: 3,
        [field]: expected,
      });
    }
  });

  it('keeps fractions of seconds but not of tokens', () => {
    const usage = { ...NO_USAGE, inputText: 0.5, seconds: 2.5 };
    expect(sanitizeUsage(usage)).toEqual({ ...NO_USAGE, inputText: 1, seconds: 2.5 });
    expect(sanitizeUsage({ ...usage, seconds: -2.5 }).seconds).toBe(0);
    expect(sanitizeUsage({ ...usage, seconds: 1e12 }).seconds).toBe(2 ** 31);
  });
});
