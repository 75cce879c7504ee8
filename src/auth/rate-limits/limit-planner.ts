import type { AppConfig } from '../../core/config/app-config';
import type { RateLimits } from '../../core/types/rate-limits';
import type { Principal } from '../../core/types/request-context';
import {
  checksOf,
  GLOBAL_ID,
  type LimitCheck,
  type LimitPlan,
  planOf,
  WINDOW_LENGTHS,
  type WindowLengths,
} from './limit-check';
import type { LimitKeys, LimitOwner } from './limit-keys';

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
    private readonly keysOf: LimitKeys,
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
        redisKey: `${this.keysOf(keyOwner(principal))}reads_per_second`,
        windowMs: this.lengths.secondMs,
      };
      this.readPlans.set(principal, (plan = planOf([check])));
    }
    return plan;
  }

  private makePlan(principal: Principal, models: readonly LimitedModel[]): LimitPlan {
    const { global, keyDefaults, organizationDefaults } = this.settings;
    const { organizationId, limits, organizationLimits } = principal;
    const { lengths, keysOf } = this;
    const organization: LimitOwner = { scope: 'organization', id: organizationId, organizationId };
    return planOf([
      ...checksOf(keyOwner(principal), withDefaults(limits, keyDefaults), lengths, keysOf),
      ...checksOf(organization, withDefaults(organizationLimits, organizationDefaults), lengths, keysOf),
      ...models.flatMap((model) =>
        model.limits === null
          ? []
          : checksOf({ scope: 'model', id: model.id, organizationId: null }, model.limits, lengths, keysOf),
      ),
      ...checksOf({ scope: 'global', id: GLOBAL_ID, organizationId: null }, global, lengths, keysOf),
    ]);
  }
}

function keyOwner({ keyId, organizationId }: Principal): LimitOwner {
  return { scope: 'key', id: keyId, organizationId };
}

function withDefaults(limits: RateLimits, defaults: RateLimits): RateLimits {
  return {
    requestsPerSecond: limits.requestsPerSecond ?? defaults.requestsPerSecond,
    requestsPerMinute: limits.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: limits.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrency: limits.concurrency ?? defaults.concurrency,
  };
}
