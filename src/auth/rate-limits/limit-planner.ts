import type { Principal } from '../../core/types/principal';
import type { RateLimits } from '../../core/types/rate-limits';
import type { AppConfig } from '../../core/config/app-config';
import {
  checksOf,
  GLOBAL_ID,
  type LimitCheck,
  type LimitPlan,
  planOf,
  WINDOW_LENGTHS,
  type WindowLengths,
} from './limit-check';

/** The limit settings of a model. `limits: null`: it has none. */
export interface LimitedModel {
  readonly id: string;
  readonly limits: RateLimits | null;
}

/**
 * Determines the limits that a request has to pass. Callers and models are immutable and shared by requests, so plans
 * are cached per pair for as long as both exist.
 */
export class LimitPlanner {
  private readonly plans = new WeakMap<Principal, WeakMap<LimitedModel, LimitPlan>>();
  private readonly readPlans = new WeakMap<Principal, LimitPlan>();

  constructor(
    private readonly settings: AppConfig['limits'],
    private readonly keyPrefix: string,
    private readonly lengths: WindowLengths = WINDOW_LENGTHS,
  ) {}

  /** @param fallbacks models that may answer in place of `model`: their limits apply too. */
  planFor(principal: Principal, model: LimitedModel, fallbacks: readonly LimitedModel[]): LimitPlan {
    if (fallbacks.some(({ limits }) => limits !== null)) return this.makePlan(principal, [model, ...fallbacks]);
    let plans = this.plans.get(principal);
    if (plans === undefined) this.plans.set(principal, (plans = new WeakMap()));
    let plan = plans.get(model);
    if (plan === undefined) plans.set(model, (plan = this.makePlan(principal, [model])));
    return plan;
  }

  /** The only limit of requests that read or delete: per key and second. */
  readPlanFor(principal: Principal): LimitPlan {
    let plan = this.readPlans.get(principal);
    if (plan === undefined) {
      const check: LimitCheck = {
        scope: 'key',
        kind: 'requests_per_second',
        limit: this.settings.keyReadsPerSecond,
        redisKey: `${this.keyPrefix}key:${principal.keyId}:reads_per_second`,
        windowMs: this.lengths.secondMs,
      };
      this.readPlans.set(principal, (plan = planOf([check])));
    }
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
