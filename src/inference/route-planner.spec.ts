import { compilePrice } from '../billing/pricing/price';
import type { AppConfig } from '../core/config/app-config';
import { GatewayError } from '../core/errors/gateway-error';
import { DeploymentHealth, ProviderLoad } from '../models/routing/deployment-health';
import type { RequestTraits } from '../models/catalog-model';
import type { RoutingDto } from '../models/routing/routing.dto';
import { NO_USAGE } from '../providers/contract/usage';
import { MAX_MICRO } from '../core/types/micro';
import { type CandidateSelector, estimatedCost, RoutePlanner, worstCaseCost } from './route-planner';
import type { Candidate, InferenceInput } from './inference.types';

const NOW_MS = 50_000;

const candidate = (id: string, input: number, priority: number): Candidate =>
  ({
    provider: { id },
    deployment: { priority, weight: 1 },
    priceVersion: { price: { tokens: { per_1m_micro: { input, output: input * 2 } } } },
    price: { costMicro: () => BigInt(input) },
    quirks: {},
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

it('excludes candidates that do not support the request, also without a routing object', () => {
  expect(plan(null, { supports: ({ provider }) => provider.id !== 'a' })).toBe('b c');
});

describe('conditions of deployments', () => {
  const conditional = (id: string, tools: boolean): Candidate => {
    const { deployment, ...rest } = candidate(id, 50, 0);
    return { ...rest, deployment: { ...deployment, when: { tools } } };
  };
  beforeEach(() => {
    ofModel['v/split'] = [conditional('chat', false), conditional('responses', true), candidate('any', 100, 1)];
  });
  const planFor = (usesTools: boolean | undefined, routing: RoutingDto | null = null): string =>
    plan(routing, { model: model('v/split'), traits: { tools: usesTools } });

  it('select the deployments for requests with tools and without', () => {
    expect(planFor(true)).toBe('responses any');
    expect(planFor(false)).toBe('chat any');
    expect(planFor(undefined)).toBe('chat any');
  });

  it('select the deployments for requests with images, frames and references', () => {
    const requiring = (id: string, when: RequestTraits): Candidate => {
      const each = candidate(id, 50, 0);
      return { ...each, deployment: { ...each.deployment, when } };
    };
    ofModel['v/split'] = [
      requiring('text', { image: false, references: false }),
      requiring('image', { image: true }),
      requiring('references', { references: true, image: false }),
    ];
    const planOf = (traits: RequestTraits): string => plan(null, { model: model('v/split'), traits });
    expect([{}, { last_frame: true }, { image: true }, { references: true }].map(planOf)).toEqual([
      'text',
      'text',
      'image',
      'references',
    ]);
  });

  it('apply whatever the routing object prefers, and to fallback models', () => {
    expect(planFor(true, { order: ['chat'], strategy: 'price' })).toBe('responses any');
    expect(plan({ models: ['v/split'], only: ['a', 'chat', 'responses'] }, { traits: { tools: true } })).toBe(
      'a responses',
    );
  });

  it('keep the plan one array for all requests of a kind', () => {
    const shared = planner();
    const planOf = (usesTools: boolean) =>
      shared.plan(inputOf(null, { model: model('v/split'), traits: { tools: usesTools } }));
    expect(planOf(true)).toBe(planOf(true));
    expect(planOf(false)).not.toEqual(planOf(true));
  });

  it('exclude a deployment whose provider lacks its dialect', () => {
    const [first, ...others] = ofModel['v/split'] ?? [];
    if (first === undefined) throw new Error('expected a candidate');
    const deployment = { ...first.deployment, when: undefined, dialect: 'openai-responses' };
    ofModel['v/split'] = [{ ...first, deployment }, ...others];
    expect(planFor(true)).toBe('responses any');
  });

  it('return no_provider_available when no deployment serves such a request', () => {
    ofModel['v/split'] = [conditional('chat', false)];
    expect(failureOf(null, { model: model('v/split'), traits: { tools: true } }).code).toBe('no_provider_available');
  });
});

describe('the routing object', () => {
  it.each<[string, RoutingDto | null, string]>([
    ['absent, changes nothing', null, 'a b c'],
    ['empty, changes nothing', {}, 'a b c'],
    ['with nulls, changes nothing', { only: null, ignore: null, order: null, max_price: null, models: null }, 'a b c'],
    ['with only, keeps those', { only: ['c', 'a', 'unknown'] }, 'a c'],
    ['with ignore, removes those', { ignore: ['a'] }, 'b c'],
    ['with order, tries those first', { order: ['c', 'unknown', 'b'] }, 'c b a'],
    ['with max_price for prompts, keeps the cheaper ones', { max_price: { prompt: 200 } }, 'b c'],
    ['with max_price for completions, keeps the cheaper ones', { max_price: { completion: 200 } }, 'b'],
    ['without fallbacks, keeps one', { allow_fallbacks: false, order: ['b'] }, 'b'],
    ['with max_attempts, keeps that many', { max_attempts: 2 }, 'a b'],
    ['with a strategy, applies it', { strategy: 'price' }, 'b c a'],
    ['with a strategy and an order, applies the order first', { strategy: 'price', order: ['a'] }, 'a b c'],
    ['with models, appends their candidates', { models: ['v/two'] }, 'a b c d'],
    ['with models and only, filters each model', { models: ['v/two'], only: ['b'] }, 'b b'],
    ['with models and no fallbacks, keeps one', { models: ['v/two'], allow_fallbacks: false }, 'a'],
  ])('%s', (_case, routing, expected) => {
    expect(plan(routing)).toBe(expected);
  });

  it('never falls back to excluded providers', () => {
    for (const routing of [{ only: ['unknown'] }, { max_price: { prompt: 1 } }]) {
      expect(failureOf(routing)).toMatchObject({ code: 'no_provider_available', param: 'routing' });
    }
  });

  it('leaves out candidates whose provider refuses the request, unless all do', () => {
    expect(plan({ require_parameters: true }, { refuses: ({ provider }) => provider.id !== 'c' })).toBe('c');
    expect(plan({ require_parameters: true }, { refuses: () => true })).toBe('a b c');
  });

  it('with require_parameters, keeps candidates that support them', () => {
    expect(plan({ require_parameters: true }, { supports: ({ provider }) => provider.id !== 'a' })).toBe('b c');
    expect(failureOf({ require_parameters: true }, { supports: () => false })).toMatchObject({
      code: 'no_provider_available',
      param: 'routing',
    });
  });
});

describe('the default plan', () => {
  it('is one array shared by all requests, limited to the allowed attempts', () => {
    const one = planner({ maxAttempts: 2 });
    expect(idsOf(one.plan(inputOf(null)))).toBe('a b');
    expect(one.plan(inputOf(null))).toBe(one.plan(inputOf(null)));
  });

  it('applies the configured strategy', () => {
    expect(idsOf(planner({ strategy: 'price' }).plan(inputOf(null)))).toBe('b c a');
  });
});

describe('health', () => {
  it('excludes deployments that are failing, rate limited or at capacity', () => {
    healthOf(0).trip(NOW_MS + 1);
    expect(plan(null)).toBe('b c');
    healthOf(1).cool(NOW_MS + 1);
    expect(plan({})).toBe('c');
    candidateAt(2).load.inFlight = 1;
    expect(() => plan(null)).toThrow(/unavailable, rate limited or at capacity/);
  });

  it('returns Retry-After for the first deployment to recover', () => {
    healthOf(0).trip(NOW_MS + 5_500);
    healthOf(1).cool(NOW_MS + 20_000);
    healthOf(2).trip(NOW_MS + 30_000);
    expect(failureOf(null)).toMatchObject({ code: 'no_provider_available', retryAfterSeconds: 6 });
  });

  it('returns provider_rate_limited when the first deployment to recover is rate limited', () => {
    healthOf(0).trip(NOW_MS + 20_000);
    healthOf(1).cool(NOW_MS + 5_500);
    healthOf(2).trip(NOW_MS + 30_000);
    expect(failureOf(null)).toMatchObject({ code: 'provider_rate_limited', retryAfterSeconds: 6 });
  });

  it('returns Retry-After of one second when the providers are only at capacity', () => {
    for (const { load } of ofModel['v/one'] ?? []) load.inFlight = 1;
    expect(failureOf(null)).toMatchObject({ code: 'no_provider_available', retryAfterSeconds: 1 });
  });

  it('uses the fallback model when no deployment serves the first', () => {
    ofModel['v/one'] = [];
    expect(plan({ models: ['v/two'] })).toBe('d b');
    expect(failureOf(null).code).toBe('no_provider_available');
  });

  it('adds a deployment that is due for a probe beyond the limit, since another request may claim the probe', () => {
    healthOf(0).trip(NOW_MS);
    expect(plan({ max_attempts: 1 })).toBe('a b');
    expect(plan({ allow_fallbacks: false })).toBe('a b');
  });
});

it('caps the hold at the largest balance of an account, so that the request ends as insufficient_credits', () => {
  const candidates = [candidate('a', 1, 0), { ...candidate('b', 2, 0), price: { costMicro: () => 2n ** 70n } }];
  expect(worstCaseCost(candidates as unknown as Candidate[], inputOf(null))).toBe(MAX_MICRO);
});

describe('the estimated cost of a prompt', () => {
  const MILLION = 1_000_000;
  const rates = { input: 100, cache_write_5m: 125, cache_write_1h: 200, output: 0 };
  const estimate = { ...NO_USAGE, inputText: MILLION };

  it.each<[string, 'short' | 'long' | undefined, boolean, object, bigint]>([
    ['is that of its input without cache writes', undefined, false, rates, 100n],
    ['is that of a short cache write where one is asked for', 'short', false, rates, 125n],
    ['is that of a long cache write where one is asked for', 'long', false, rates, 200n],
    ['is that of a short cache write at vendors that write unasked', undefined, true, rates, 125n],
    ['is that of its input without a price of cache writes', 'long', true, { input: 100, output: 0 }, 100n],
    ['is that of its input where a cache write costs less', 'short', true, { ...rates, cache_write_5m: 0 }, 100n],
  ])('%s', (_case, cacheWrite, implicitCacheWrites, per_1m_micro, expected) => {
    const price = compilePrice({ tokens: { per_1m_micro } } as unknown as Parameters<typeof compilePrice>[0]);
    const prompt = { textBytes: 4 * MILLION, fixedTokens: 0, cacheWrite };
    expect(estimatedCost({ price, quirks: { implicitCacheWrites } }, { estimate, prompt })).toBe(expected);
  });
});
