import { GatewayError } from '../common/errors/gateway-error';
import type { Candidate } from './inference.types';
import { applyRouting } from './routing-constraints';

const candidate = (id: string, input: number): Candidate =>
  ({
    provider: { id },
    priceVersion: { price: { tokens: { per_1m_micro: { input, output: input * 2 } } } },
  }) as unknown as Candidate;

const candidates = [candidate('a', 300), candidate('b', 100), candidate('c', 200)];
const idsLeft = (routing: object | null): string[] =>
  applyRouting(candidates, routing).map(({ provider }) => provider.id);

describe('the routing object of a request', () => {
  it.each<[string, object | null, string[]]>([
    ['absent, changes nothing', null, ['a', 'b', 'c']],
    ['empty, changes nothing', {}, ['a', 'b', 'c']],
    ['with only, leaves those', { only: ['c', 'a', 'unknown'] }, ['a', 'c']],
    ['with ignore, leaves the others', { ignore: ['a'] }, ['b', 'c']],
    ['with order, tries those first', { order: ['c', 'unknown', 'b'] }, ['c', 'b', 'a']],
    ['with max_price for prompts, leaves the cheap ones', { max_price: { prompt: 200 } }, ['b', 'c']],
    ['with max_price for completions, leaves the cheap ones', { max_price: { completion: 200 } }, ['b']],
    ['without fallbacks, leaves one', { allow_fallbacks: false, order: ['b'] }, ['b']],
    ['with max_attempts, leaves so many', { max_attempts: 2 }, ['a', 'b']],
    ['with nulls, changes nothing', { only: null, ignore: null, order: null, max_price: null }, ['a', 'b', 'c']],
  ])('%s', (_case, routing, expected) => {
    expect(idsLeft(routing)).toEqual(expected);
  });

  it('never falls back to what it rules out', () => {
    expect(() => idsLeft({ only: ['unknown'] })).toThrow(GatewayError);
    expect(() => idsLeft({ max_price: { prompt: 1 } })).toThrow(/left by the routing/);
  });
});
