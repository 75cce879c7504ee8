import { Injectable } from '@nestjs/common';
import { type SpendingOutlook, SpendingOutlookService } from '../billing/spending-outlook.service';
import { GatewayError } from '../common/errors/gateway-error';
import type { Principal } from '../common/principal';
import type { LimitOutlook } from '../limits/limit-outlook';
import { LimiterService } from '../limits/limiter.service';
import { tokensOf } from '../providers/contract/usage';
import {
  type CheckName,
  type CheckOutcome,
  CHECKS,
  type ExplainedRequest,
  type Explanation,
  type PricedRoute,
} from './explanation.types';
import type { Candidate, InferenceInput } from './inference.types';
import { dearest } from './metering.service';
import { toClientError } from './provider-failure';
import { type Refusals, RouteExplainer } from './route-explainer';
import { RoutePlanner } from './route-planner';

const NO_REFUSALS: Refusals = new Map();

/**
 * Says what would become of a request, by the rules that would decide about it: nobody is called, nothing is charged, held
 * or counted. Each check is made as far as it can be, whatever the earlier ones say.
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
   * @param assertKeyUsable throws what is held against the key
   * @param understand the request as its operation understands it; throws what the operation refuses
   * @throws GatewayError `service_unavailable` when limits or budgets cannot be looked at
   */
  async explain(
    principal: Principal,
    assertKeyUsable: () => void,
    understand: () => ExplainedRequest,
  ): Promise<Explanation> {
    const checks = new Checks();
    checks.make('key', assertKeyUsable);
    const request = checks.make('request', understand);
    if (request === null) return unexplained(checks);
    const { input } = request;
    const candidates = checks.make('route', () => request.plan?.() ?? this.planner.plan(input));
    const price =
      candidates && checks.make('price', () => request.price?.(candidates) ?? this.price(candidates, input));
    const { model, fallbacks } = input;
    const refusals = candidates === null ? NO_REFUSALS : refusalsOf(request, candidates);
    if (candidates !== null) checks.make('support', () => assertSomebodyTakes(candidates, refusals));
    const asked = candidates?.filter((candidate) => !refusals.has(candidate)) ?? [];
    const tokens = request.limitedTokens ?? tokensOf(input.estimate);
    const [leftOut, limits, spending] = await Promise.all([
      this.routes.leftOut(input, asked, refusals),
      this.limiter.look({ principal, model, fallbacks, tokens }),
      price && this.spending.look(principal.organizationId, principal.keyId, price.holdMicro),
    ]);
    checks.note('limits', limits);
    if (spending !== null) checks.note('budgets', spending);
    return {
      checks: checks.outcomes(),
      input,
      candidates: asked,
      leftOut,
      price,
      limitedTokens: tokens,
      limits: limits.limits,
      budgets: spending?.budgets ?? [],
    };
  }

  private price(candidates: readonly Candidate[], input: InferenceInput): PricedRoute {
    const holdMicro = dearest(candidates, input);
    return { estimateMicro: holdMicro, holdMicro };
  }
}

/** By candidate, what its adapter refuses, in the order in which they would be asked. */
function refusalsOf({ assertTaken }: ExplainedRequest, candidates: readonly Candidate[]): Refusals {
  const refusals = new Map<Candidate, GatewayError>();
  for (const candidate of candidates) {
    try {
      assertTaken?.(candidate);
    } catch (error) {
      const refusal = toClientError(error);
      if (!(refusal instanceof GatewayError)) throw refusal;
      refusals.set(candidate, refusal);
    }
  }
  return refusals;
}

/** As one who takes it will be asked in the end. @throws GatewayError that of the first when nobody takes it */
function assertSomebodyTakes(candidates: readonly Candidate[], refusals: Refusals): void {
  const [first] = refusals.values();
  if (first !== undefined && refusals.size === candidates.length) throw first;
}

/** What the checks of one request have said. */
class Checks {
  private readonly made = new Map<CheckName, GatewayError | null>();

  /** `null`: it refuses. What is no refusal is thrown on. */
  make<Result>(check: CheckName, run: () => Result): Result | null {
    try {
      const result = run();
      this.made.set(check, null);
      return result;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.made.set(check, error);
      return null;
    }
  }

  note(check: CheckName, { refusal }: LimitOutlook | SpendingOutlook): void {
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
