import { Inject, Injectable } from '@nestjs/common';
import { estimating } from '../billing/pricing/price';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { RoutingDto } from '../models/routing/routing.dto';
import { isFixedOrder, orderBy, type Strategy } from '../models/routing/strategies';
import { CandidateSelector } from './candidate-selector';
import type { Candidate, InferenceInput } from './inference.types';
import { noneAvailable } from './route-failure';
import { inOrder, isAllowed } from './routing-constraints';

const NO_ROUTING: RoutingDto = {};

/**
 * Plans the route of a request: the candidates to try, in order (src/models/routing/README.md). Without a `routing` object
 * and with all deployments healthy, the plan is an array cached until the catalogue changes.
 */
@Injectable()
export class RoutePlanner {
  private readonly strategy: Strategy;
  private readonly maxAttempts: number;
  private readonly plainPlans = new WeakMap<readonly Candidate[], readonly Candidate[] | null>();

  constructor(
    private readonly selector: CandidateSelector,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { routing }: AppConfig,
  ) {
    this.strategy = routing.strategy;
    this.maxAttempts = routing.maxAttempts;
  }

  /**
   * Never empty.
   * @throws GatewayError `no_provider_available` or `provider_rate_limited`, with `retry_after` when waiting helps.
   */
  plan(input: InferenceInput): readonly Candidate[] {
    const candidates = this.selector.select(input.model);
    if (input.routing === null && input.supports === undefined) {
      const plain = this.plainPlan(candidates);
      if (plain !== null && plain.every(isReady)) return plain;
    }
    return this.planInFull(input, candidates, input.routing ?? NO_ROUTING);
  }

  /** The cached plan of requests without `routing`; `null` when it differs per request. */
  private plainPlan(candidates: readonly Candidate[]): readonly Candidate[] | null {
    let plan = this.plainPlans.get(candidates);
    if (plan === undefined) {
      const isFixed = candidates.length > 0 && this.strategy === 'priority' && isFixedOrder(candidates);
      plan = isFixed ? candidates.slice(0, this.maxAttempts) : null;
      this.plainPlans.set(candidates, plan);
    }
    return plan;
  }

  private planInFull(
    input: InferenceInput,
    candidates: readonly Candidate[],
    routing: RoutingDto,
  ): readonly Candidate[] {
    const models = [candidates, ...input.fallbacks.map((model) => this.selector.select(model))];
    if (models.every(({ length }) => length === 0)) {
      throw new GatewayError('no_provider_available', `No provider is available for ${input.model.id}.`);
    }
    const nowMs = this.clock.monotonic();
    const wanted = models.flatMap((ofModel) => this.order(ofModel, input, routing, nowMs));
    if (wanted.length === 0) {
      const message = 'The routing object excludes every provider of this model.';
      throw new GatewayError('no_provider_available', message, { param: 'routing' });
    }
    const limit = routing.allow_fallbacks === false ? 1 : (routing.max_attempts ?? this.maxAttempts);
    return takeCallable(wanted, limit, nowMs);
  }

  /** The allowed candidates of one model, best first. */
  private order(
    candidates: readonly Candidate[],
    { estimate, pricedBy, streamed, supports }: InferenceInput,
    routing: RoutingDto,
    nowMs: number,
  ): readonly Candidate[] {
    const allowed = candidates.filter(
      (candidate) => isAllowed(candidate, routing) && (supports === undefined || supports(candidate)),
    );
    const strategy = routing.strategy ?? this.strategy;
    if (strategy === 'smart') {
      const param = 'routing.strategy';
      throw new GatewayError('not_implemented', 'The strategy "smart" is not available in this build.', { param });
    }
    const details = estimating(pricedBy);
    const ordered = orderBy(strategy, allowed, {
      streamed,
      nowMs,
      costOf: ({ price }) => price.costMicro(estimate, details),
      random: Math.random,
    });
    return inOrder(ordered, routing.order ?? []);
  }
}

function isReady({ health, load }: Candidate): boolean {
  return health.isUndisturbed && !load.isFull;
}

/**
 * The first `limit` callable candidates. A candidate that is due for a probe does not count: if another request claims the
 * probe, this request still needs its full number of candidates.
 */
function takeCallable(candidates: readonly Candidate[], limit: number, nowMs: number): readonly Candidate[] {
  const taken: Candidate[] = [];
  let ready = 0;
  for (const candidate of candidates) {
    if (ready === limit) break;
    if (candidate.load.isFull) continue;
    const standing = candidate.health.standing(nowMs);
    if (standing === 'away') continue;
    if (standing === 'ready') ready++;
    taken.push(candidate);
  }
  if (taken.length > 0) return taken;
  throw noneAvailable(candidates, nowMs);
}
