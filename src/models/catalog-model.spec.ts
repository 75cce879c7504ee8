import { findActivePrice, type PriceVersion } from './catalog-model';

const version = (id: string, effectiveFromMs: number, effectiveToMs: number | null = null): PriceVersion => ({
  id,
  effectiveFromMs,
  effectiveToMs,
  byOperator: false,
  price: {},
});

describe('findActivePrice', () => {
  const history = [version('old', 100), version('promotion', 200, 300), version('new', 400)];

  it.each([
    [99, null],
    [100, 'old'],
    [199, 'old'],
    [200, 'promotion'],
    [299, 'promotion'],
    [300, 'old'],
    [400, 'new'],
    [9_999, 'new'],
  ])('at %i the price in force is %s', (nowMs, id) => {
    expect(findActivePrice(history, nowMs).version?.id ?? null).toBe(id);
  });

  it('returns the period for which the price is in force', () => {
    for (let nowMs = 50; nowMs < 500; nowMs += 25) {
      const { version: found, fromMs, untilMs } = findActivePrice(history, nowMs);
      expect(fromMs).toBeLessThanOrEqual(nowMs);
      expect(untilMs).toBeGreaterThan(nowMs);
      for (const atMs of [Math.max(fromMs, 0), Math.min(untilMs - 1, 10_000)]) {
        expect(findActivePrice(history, atMs).version).toBe(found);
      }
    }
    expect(findActivePrice(history, 450).untilMs).toBe(Infinity);
  });

  it('prefers the price of an operator over the files until it ends', () => {
    const decided = { ...version('decided', 150, 350), byOperator: true };
    const found = [149, 150, 250, 349, 350].map((nowMs) => findActivePrice([...history, decided], nowMs).version?.id);
    expect(found).toEqual(['old', 'decided', 'decided', 'decided', 'old']);
  });

  it('finds nothing in an empty history', () => {
    expect(findActivePrice([], 1)).toEqual({ version: null, fromMs: -Infinity, untilMs: Infinity });
  });
});
