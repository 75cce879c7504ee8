import type { AppConfig } from '../config/app-config';
import { GatewayError } from '../common/errors/gateway-error';
import { DeploymentHealth, ProviderLoad } from '../routing/deployment-health';
import type { RoutingDto } from '../routing/routing.dto';
import type { CandidateSelector } from './candidate-selector';
import type { Candidate, InferenceInput } from './inference.types';
import { RoutePlanner } from './route-planner';

const NOW_MS = 50_000;

const candidate = (id: string, input: number, priority: number): Candidate =>
  ({
    provider: { id },
    deployment: { priority, weight: 1 },
    priceVersion: { price: { tokens: { per_1m_micro: { input, output: input * 2 } } } },
    price: { costMicro: () => BigInt(input) },
    health: new DeploymentHealth(id),
    load: new ProviderLoad(1),
  }) as unknown as Candidate;

const model = (id: string): InferenceInput['model'] => ({ id }) as InferenceInput['model'];

let ofModel: Record<string, readonly Candidate[]>;
beforeEach(() => {
  ofModel = {
    'v/one': [candidate('a', 300, 0), candidate('b', 100, 1), candidate('c', 200, 2)],
    'v/two': [candidate('d', 50, 0), candidate('b', 60, 1)],
  };
});

const planner = (settings: Partial<AppConfig['routing']> = {}): RoutePlanner =>
  new RoutePlanner(
    { select: ({ id }: { id: string }) => ofModel[id] ?? [] } as unknown as CandidateSelector,
    { now: () => 0, monotonic: () => NOW_MS },
    { routing: { strategy: 'priority', maxAttempts: 4, ...settings } } as AppConfig,
  );
const inputOf = (routing: RoutingDto | null, overrides: Partial<InferenceInput> = {}): InferenceInput =>
  ({
    model: model('v/one'),
    fallbacks: (routing?.models ?? []).map(model),
    routing,
    ...overrides,
  }) as InferenceInput;
const idsOf = (plan: readonly Candidate[]): string => plan.map(({ provider }) => provider.id).join(' ');
const plan = (routing: RoutingDto | null, overrides: Partial<InferenceInput> = {}): string =>
  idsOf(planner().plan(inputOf(routing, overrides)));
const failureOf = (routing: RoutingDto | null, overrides: Partial<InferenceInput> = {}): GatewayError => {
  try {
    plan(routing, overrides);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('expected a failure');
};
const candidateAt = (at: number): Candidate => ofModel['v/one']?.[at] ?? candidate('none', 0, 0);
const healthOf = (at: number): DeploymentHealth => candidateAt(at).health;

it('leaves out who cannot do what a request needs, also where it wishes nothing', () => {
  expect(plan(null, { supports: ({ provider }) => provider.id !== 'a' })).toBe('b c');
});

describe('the routing object of a request', () => {
  it.each<[string, RoutingDto | null, string]>([
    ['absent, changes nothing', null, 'a b c'],
    ['empty, changes nothing', {}, 'a b c'],
    ['with nulls, changes nothing', { only: null, ignore: null, order: null, max_price: null, models: null }, 'a b c'],
    ['with only, leaves those', { only: ['c', 'a', 'unknown'] }, 'a c'],
    ['with ignore, leaves the others', { ignore: ['a'] }, 'b c'],
    ['with order, tries those first', { order: ['c', 'unknown', 'b'] }, 'c b a'],
    ['with max_price for prompts, leaves the cheap ones', { max_price: { prompt: 200 } }, 'b c'],
    ['with max_price for completions, leaves the cheap ones', { max_price: { completion: 200 } }, 'b'],
    ['without fallbacks, leaves one', { allow_fallbacks: false, order: ['b'] }, 'b'],
    ['with max_attempts, leaves so many', { max_attempts: 2 }, 'a b'],
    ['with a strategy, goes by it', { strategy: 'price' }, 'b c a'],
    ['with a strategy and an order, takes the order first', { strategy: 'price', order: ['a'] }, 'a b c'],
    ['with models, adds theirs at the end', { models: ['v/two'] }, 'a b c d'],
    ['with models and only, leaves those of each', { models: ['v/two'], only: ['b'] }, 'b b'],
    ['with models and no fallbacks, leaves one', { models: ['v/two'], allow_fallbacks: false }, 'a'],
  ])('%s', (_case, routing, expected) => {
    expect(plan(routing)).toBe(expected);
  });

  it('never falls back to what it rules out', () => {
    for (const routing of [{ only: ['unknown'] }, { max_price: { prompt: 1 } }]) {
      expect(failureOf(routing)).toMatchObject({ code: 'no_provider_available', param: 'routing' });
    }
  });

  it('with require_parameters, leaves what supports them', () => {
    expect(plan({ require_parameters: true }, { supports: ({ provider }) => provider.id !== 'a' })).toBe('b c');
    expect(failureOf({ require_parameters: true }, { supports: () => false })).toMatchObject({
      code: 'no_provider_available',
      param: 'routing',
    });
  });
});

describe('the default plan', () => {
  it('is one array for all requests, and ends at the attempts that are allowed', () => {
    const one = planner({ maxAttempts: 2 });
    expect(idsOf(one.plan(inputOf(null)))).toBe('a b');
    expect(one.plan(inputOf(null))).toBe(one.plan(inputOf(null)));
  });

  it('follows the strategy of the settings', () => {
    expect(idsOf(planner({ strategy: 'price' }).plan(inputOf(null)))).toBe('b c a');
  });
});

describe('health', () => {
  it('leaves out what fails, rests or is full', () => {
    healthOf(0).trip(NOW_MS + 1);
    expect(plan(null)).toBe('b c');
    healthOf(1).cool(NOW_MS + 1);
    expect(plan({})).toBe('c');
    candidateAt(2).load.inFlight = 1;
    expect(() => plan(null)).toThrow(/failing, resting or full/);
  });

  it('tells when the first of all is expected back', () => {
    healthOf(0).trip(NOW_MS + 5_500);
    healthOf(1).cool(NOW_MS + 20_000);
    healthOf(2).trip(NOW_MS + 30_000);
    expect(failureOf(null)).toMatchObject({ code: 'no_provider_available', retryAfterSeconds: 6 });
  });

  it('stays with the rate limit when that is what the first of all waits for', () => {
    healthOf(0).trip(NOW_MS + 20_000);
    healthOf(1).cool(NOW_MS + 5_500);
    healthOf(2).trip(NOW_MS + 30_000);
    expect(failureOf(null)).toMatchObject({ code: 'provider_rate_limited', retryAfterSeconds: 6 });
  });

  it('tells to come back at once when the providers are only full', () => {
    for (const { load } of ofModel['v/one'] ?? []) load.inFlight = 1;
    expect(failureOf(null)).toMatchObject({ code: 'no_provider_available', retryAfterSeconds: 1 });
  });

  it('takes the fallback model when nothing serves the first', () => {
    ofModel['v/one'] = [];
    expect(plan({ models: ['v/two'] })).toBe('d b');
    expect(failureOf(null).code).toBe('no_provider_available');
  });

  it('counts a deployment that is due for a probe on top, since another request may be faster to try it', () => {
    healthOf(0).trip(NOW_MS);
    expect(plan({ max_attempts: 1 })).toBe('a b');
    expect(plan({ allow_fallbacks: false })).toBe('a b');
  });
});
