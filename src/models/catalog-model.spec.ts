import type { Modality } from '../core/types/modality';
import type { Principal } from '../core/types/request-context';
import { assertModelAllowed, findActivePrice, isModelAllowed, type PriceVersion } from './catalog-model';

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

function makePrincipal(models: string[] | null, modalities: Modality[] | null): Principal {
  return {
    organizationId: 'organization',
    keyId: 'key',
    allowedModels: models && new Set(models),
    allowedModalities: modalities && new Set(modalities),
    limits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
    organizationLimits: { requestsPerSecond: null, requestsPerMinute: null, tokensPerMinute: null, concurrency: null },
  };
}

const model = { id: 'mock/chat-1', modality: 'text' } as const;

describe('assertModelAllowed', () => {
  it.each([
    ['a key without rules', null, null],
    ['a key that names the model', ['mock/chat-1'], null],
    ['a key that names the vendor', ['mock/*'], null],
    ['a key that names the modality', null, ['text'] as Modality[]],
  ])('allows %s', (_name, models, modalities) => {
    const principal = makePrincipal(models, modalities);
    expect(isModelAllowed(principal, model)).toBe(true);
    expect(() => assertModelAllowed(principal, model)).not.toThrow();
  });

  it.each([
    ['another model', ['mock/chat-2'], null, 'model_not_allowed'],
    ['a vendor with a common prefix', ['mo/*', 'mock-2/*'], null, 'model_not_allowed'],
    ['a lone asterisk', ['*'], null, 'model_not_allowed'],
    ['an empty list', [], null, 'model_not_allowed'],
    ['another modality', null, ['image'] as Modality[], 'modality_not_allowed'],
    ['both wrong', ['mock/chat-2'], ['image'] as Modality[], 'model_not_allowed'],
  ])('refuses %s', (_name, models, modalities, code) => {
    const principal = makePrincipal(models, modalities);
    expect(isModelAllowed(principal, model)).toBe(false);
    expect(() => assertModelAllowed(principal, model)).toThrow(expect.objectContaining({ code, param: 'model' }));
  });
});
