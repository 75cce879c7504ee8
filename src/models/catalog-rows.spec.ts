import { NO_LIMITS } from '../core/types/rate-limits';
import {
  applyDecisions,
  type DecidedCatalog,
  type DecidedDeploymentRow,
  type DecidedModelRow,
  withoutDecisions,
} from './catalog-rows';

const model = (decision: Partial<DecidedModelRow>): DecidedModelRow =>
  ({
    id: 'a/b',
    enabled: true,
    limits: null,
    decidedEnabled: null,
    decidedLimits: null,
    ...decision,
  }) as DecidedModelRow;
const deployment = (id: string, decision: Partial<DecidedDeploymentRow>): DecidedDeploymentRow =>
  ({
    id,
    modelId: 'a/b',
    enabled: true,
    priority: 0,
    weight: 1,
    decidedEnabled: null,
    decidedPriority: null,
    decidedWeight: null,
    ...decision,
  }) as DecidedDeploymentRow;
const apply = (catalog: Partial<DecidedCatalog>): DecidedCatalog =>
  applyDecisions({ models: [], deployments: [], prices: [], ...catalog });

describe('operator overrides', () => {
  it('are empty by default', () => {
    const catalog = { models: [model({})], deployments: [deployment('one', {})], prices: [] };
    expect(applyDecisions(catalog)).toEqual(catalog);
  });

  it.each([
    [true, false],
    [false, true],
  ])('take precedence over files with enabled: %s', (enabled, decidedEnabled) => {
    const decided = apply({
      models: [model({ enabled, decidedEnabled })],
      deployments: [deployment('one', { enabled, decidedEnabled })],
    });
    expect([...decided.models, ...decided.deployments].map((row) => row.enabled)).toEqual(
      Array(2).fill(decidedEnabled),
    );
  });

  it('add limits, remove others, and keep the rest from the files', () => {
    const limits = { ...NO_LIMITS, requestsPerSecond: 5, concurrency: 2 };
    const decidedLimits = { concurrency: null, tokensPerMinute: 7 };
    const [row] = apply({ models: [model({ limits, decidedLimits })] }).models;
    expect(row?.limits).toEqual({ ...NO_LIMITS, requestsPerSecond: 5, tokensPerMinute: 7 });
    const [free] = apply({ models: [model({ limits, decidedLimits: { ...NO_LIMITS } })] }).models;
    expect(free?.limits).toBeNull();
  });

  it('sort deployments by effective priority', () => {
    const rows = [deployment('one', { priority: 0, decidedPriority: 9 }), deployment('two', { priority: 1 })];
    expect(apply({ deployments: rows }).deployments.map(({ id }) => id)).toEqual(['two', 'one']);
  });

  it('do not affect the values that the import compares', () => {
    const decided = {
      models: [model({ decidedEnabled: false, decidedLimits: { concurrency: 1 } })],
      deployments: [deployment('one', { decidedWeight: 9 })],
      prices: [],
    };
    const stored = withoutDecisions(decided);
    expect(stored).toEqual(withoutDecisions({ models: [model({})], deployments: [deployment('one', {})], prices: [] }));
  });
});
