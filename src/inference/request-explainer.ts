import { Inject, Injectable } from '@nestjs/common';
import type { LimitOutlook } from '../auth/rate-limits/limit-check';
import { LimiterService } from '../auth/rate-limits/limiter.service';
import { type SpendingOutlook, SpendingOutlookService } from '../billing/ledger/spending-outlook.service';
import { GatewayError } from '../core/errors/gateway-error';
import { CLOCK, type Clock } from '../core/time/clock';
import type { Principal } from '../core/types/request-context';
import type { DeploymentRow } from '../models/catalog-rows';
import { CatalogRepository } from '../models/catalog.repository';
import { type DeploymentServing, reviewServing } from '../models/serving';
import { tokensOf } from '../providers/contract/usage';
import { ProvidersService } from '../providers/providers.service';
import {
  type CheckName,
  type CheckOutcome,
  CHECKS,
  type ExplainedRequest,
  type Explanation,
  type Judgment,
  type LeftOutDeployment,
  type LeftOutReason,
  type PricedRoute,
} from './explanation.types';
import type { Candidate, InferenceInput } from './inference.types';
import { toClientError } from './provider-failure';
import { CandidateSelector, meetsConditions, RoutePlanner, ruledOutBy, worstCaseCost } from './route-planner';

/** The refusals of adapters before sending, by candidate. */
export type Refusals = ReadonlyMap<Candidate, GatewayError>;

type Verdict = Pick<LeftOutDeployment, 'reason' | 'param'>;

/** Explains why deployments are not in the route of a request. */
@Injectable()
export class RouteExplainer {
  constructor(
    private readonly selector: CandidateSelector,
    private readonly catalog: CatalogRepository,
    private readonly providers: ProvidersService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * In the order of the request's models.
   * @param callable candidates of the route that would be called
   * @param refusals the other candidates of the route
   */
  async leftOut(
    input: InferenceInput,
    callable: readonly Candidate[],
    refusals: Refusals,
  ): Promise<LeftOutDeployment[]> {
    const serving = reviewServing(await this.catalog.read(), this.providers.configuredIds, this.clock.now());
    const callableIds = new Set(callable.map(({ deployment }) => deployment.id));
    const refused = new Map([...refusals].map(([{ deployment }, refusal]) => [deployment.id, refusal]));
    return [input.model, ...input.fallbacks].flatMap((model) => {
      const candidates = new Map(this.selector.select(model).map((each) => [each.deployment.id, each]));
      const stored = serving.find(({ row }) => row.id === model.id)?.deployments ?? [];
      return stored
        .filter(({ row }) => !callableIds.has(row.id))
        .map((deployment) => ({
          model: model.id,
          deploymentId: deployment.row.id,
          provider: deployment.row.provider,
          ...this.judge(deployment, candidates.get(deployment.row.id), refused.get(deployment.row.id), input),
        }));
    });
  }

  private judge(
    deployment: DeploymentServing<DeploymentRow>,
    candidate: Candidate | undefined,
    refusal: GatewayError | undefined,
    input: InferenceInput,
  ): Verdict {
    if (refusal !== undefined) return { reason: 'unsupported', param: refusal.param ?? null };
    return { reason: this.reasonFor(deployment, candidate, input), param: null };
  }

  private reasonFor(
    { obstacles }: DeploymentServing<DeploymentRow>,
    candidate: Candidate | undefined,
    { routing, supports, traits }: InferenceInput,
  ): LeftOutReason {
    const [obstacle] = obstacles;
    if (obstacle !== undefined) return obstacle;
    // The deployment became callable, but this process has not reloaded the catalogue yet.
    if (candidate === undefined) return 'not_needed';
    const constraint = ruledOutBy(candidate, routing ?? {});
    if (constraint !== null) return constraint;
    if (supports?.(candidate) === false || !meetsConditions(candidate, traits)) return 'unsupported';
    const { health, load } = candidate;
    const nowMs = this.clock.monotonic();
    if (load.isFull) return 'full';
    if (health.standing(nowMs) !== 'unavailable') return 'not_needed';
    return health.isCoolingDown(nowMs) ? 'rate_limited' : 'breaker_open';
  }
}

const NO_REFUSALS: Refusals = new Map();

/**
 * Predicts the outcome of a request with the rules that would apply to it: no provider is called, and nothing is
 * charged, held or counted. Every check runs as far as possible, even after an earlier one refuses.
 */
@Injectable()
export class RequestExplainer {
  constructor(
    private readonly planner: RoutePlanner,
    private readonly routes: RouteExplainer,
    private readonly limiter: LimiterService,
    private readonly spending: SpendingOutlookService,
  ) {}

  /**
   * @param judgments the checks of the guards, in order; each throws the error that a request would get
   * @param parse returns the parsed request; throws when the operation refuses it
   * @throws GatewayError `service_unavailable` when limits or budgets cannot be read
   */
  async explain(
    principal: Principal,
    judgments: readonly Judgment[],
    parse: () => ExplainedRequest,
  ): Promise<Explanation> {
    const checks = new Checks();
    for (const { check, judge } of judgments) checks.runCheck(check, judge);
    const request = checks.runCheck('request', parse);
    if (request === null) return unexplained(checks);
    const { input } = request;
    const candidates = checks.runCheck('route', () => request.plan?.() ?? this.planner.plan(input));
    const price =
      candidates && checks.runCheck('price', () => request.price?.(candidates) ?? this.price(candidates, input));
    const { model, fallbacks } = input;
    const refusals = candidates === null ? NO_REFUSALS : refusalsOf(request, candidates);
    if (candidates !== null) checks.runCheck('support', () => assertAnySupports(candidates, refusals));
    const callable = candidates?.filter((candidate) => !refusals.has(candidate)) ?? [];
    const tokens = request.limitedTokens ?? tokensOf(input.estimate);
    const [leftOut, limits, spending] = await Promise.all([
      this.routes.leftOut(input, callable, refusals),
      this.limiter.look({ principal, model, fallbacks, tokens }),
      price && this.spending.previewHold(principal.organizationId, principal.keyId, price.holdMicro),
    ]);
    checks.record('limits', limits);
    if (spending !== null) checks.record('budgets', spending);
    return {
      checks: checks.outcomes(),
      input,
      candidates: callable,
      leftOut,
      price,
      limitedTokens: tokens,
      limits: limits.limits,
      budgets: spending?.budgets ?? [],
    };
  }

  private price(candidates: readonly Candidate[], input: InferenceInput): PricedRoute {
    const holdMicro = worstCaseCost(candidates, input);
    return { estimateMicro: holdMicro, holdMicro };
  }
}

/** The refusals of adapters by candidate, in call order. */
function refusalsOf({ assertSupportedBy }: ExplainedRequest, candidates: readonly Candidate[]): Refusals {
  const refusals = new Map<Candidate, GatewayError>();
  for (const candidate of candidates) {
    try {
      assertSupportedBy?.(candidate);
    } catch (error) {
      const refusal = toClientError(error);
      if (!(refusal instanceof GatewayError)) throw refusal;
      refusals.set(candidate, refusal);
    }
  }
  return refusals;
}

/** @throws GatewayError the first refusal, when every candidate refuses */
function assertAnySupports(candidates: readonly Candidate[], refusals: Refusals): void {
  const [first] = refusals.values();
  if (first !== undefined && refusals.size === candidates.length) throw first;
}

/** The outcomes of the checks of one request. */
class Checks {
  private readonly made = new Map<CheckName, GatewayError | null>();

  /** Returns `null` when the check refuses. Rethrows errors that are not refusals. */
  runCheck<Result>(check: CheckName, action: () => Result): Result | null {
    try {
      const result = action();
      if (!this.made.has(check)) this.made.set(check, null);
      return result;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // The client would get the first refusal.
      this.made.set(check, this.made.get(check) ?? error);
      return null;
    }
  }

  record(check: CheckName, { refusal }: LimitOutlook | SpendingOutlook): void {
    this.made.set(check, refusal);
  }

  outcomes(): CheckOutcome[] {
    return CHECKS.map((check) => {
      const refusal = this.made.get(check);
      if (refusal === undefined) return { check, outcome: 'not_reached', refusal: null };
      return { check, outcome: refusal === null ? 'passes' : 'refuses', refusal };
    });
  }
}

function unexplained(checks: Checks): Explanation {
  return {
    checks: checks.outcomes(),
    input: null,
    candidates: [],
    leftOut: [],
    price: null,
    limitedTokens: null,
    limits: [],
    budgets: [],
  };
}
