import type { Principal } from '../common/principal';
import type { RateLimits } from '../common/rate-limits';
import type { AppConfig } from '../config/app-config';
import { checksOf, GLOBAL_ID, type LimitPlan, planOf, WINDOW_LENGTHS, type WindowLengths } from './limit-check';

/** A model as far as limits are concerned. `limits: null`: it has none. */
export interface LimitedModel {
  readonly id: string;
  readonly limits: RateLimits | null;
}

/**
 * Says which limits a request has to pass. Callers and models are immutable and shared by requests, so what was found
 * for a pair of them is kept for as long as both are.
 */
export class LimitPlanner {
  private readonly plans = new WeakMap<Principal, WeakMap<LimitedModel, LimitPlan>>();

  constructor(
    private readonly settings: AppConfig['limits'],
    private readonly keyPrefix: string,
    private readonly lengths: WindowLengths = WINDOW_LENGTHS,
  ) {}

  /** @param fallbacks models that may answer in place of `model`: the limits of each of them are to be passed. */
  planFor(principal: Principal, model: LimitedModel, fallbacks: readonly LimitedModel[]): LimitPlan {
    if (fallbacks.some(({ limits }) => limits !== null)) return this.makePlan(principal, [model, ...fallbacks]);
    let plans = this.plans.get(principal);
    if (plans === undefined) this.plans.set(principal, (plans = new WeakMap()));
    let plan = plans.get(model);
    if (plan === undefined) plans.set(model, (plan = this.makePlan(principal, [model])));
    return plan;
  }

  private makePlan(principal: Principal, models: readonly LimitedModel[]): LimitPlan {
    const { global, keyDefaults, organizationDefaults } = this.settings;
    const { keyId, organizationId, limits, organizationLimits } = principal;
    const { lengths, keyPrefix } = this;
    return planOf([
      ...checksOf('key', keyId, withDefaults(limits, keyDefaults), lengths, keyPrefix),
      ...checksOf(
        'organization',
        organizationId,
        withDefaults(organizationLimits, organizationDefaults),
        lengths,
        keyPrefix,
      ),
      ...models.flatMap((model) =>
        model.limits === null ? [] : checksOf('model', model.id, model.limits, lengths, keyPrefix),
      ),
      ...checksOf('global', GLOBAL_ID, global, lengths, keyPrefix),
    ]);
  }
}

function withDefaults(limits: RateLimits, defaults: RateLimits): RateLimits {
  return {
    requestsPerSecond: limits.requestsPerSecond ?? defaults.requestsPerSecond,
    requestsPerMinute: limits.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: limits.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrency: limits.concurrency ?? defaults.concurrency,
  };
}
