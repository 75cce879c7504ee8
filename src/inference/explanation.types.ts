import type { BudgetStanding } from '../billing/spending-outlook.service';
import type { GatewayError } from '../common/errors/gateway-error';
import type { Micro } from '../common/micro';
import type { LimitStanding } from '../limits/limit-outlook';
import type { DeploymentObstacle } from '../models/serving';
import type { Candidate, InferenceInput } from './inference.types';
import type { RulingConstraint } from './routing-constraints';

/** What is expected to be spent, and what is held for it. */
export interface PricedRoute {
  readonly estimateMicro: Micro;
  readonly holdMicro: Micro;
}

/** A request as its operation understands it, with those of its steps that are not everybody's. */
export interface ExplainedRequest {
  readonly input: InferenceInput;
  /** @throws GatewayError where nobody is left. Default: what the planner of routes says. */
  plan?(): readonly Candidate[];
  /** @throws GatewayError where the price or the caller's cap refuses. Default: the dearest candidate is held. */
  price?(candidates: readonly Candidate[]): PricedRoute;
  /**
   * What the candidate's adapter refuses before it sends anything; the next candidate is asked then. Default: nothing.
   * @throws ProviderError, or GatewayError where it is told in other words
   */
  assertTaken?(candidate: Candidate): void;
  /** Tokens that the limits count. Default: those of the estimate. */
  readonly limitedTokens?: number;
}

/** What a request passes, in this order. */
export const CHECKS = ['key', 'request', 'route', 'price', 'limits', 'budgets', 'support'] as const;
export type CheckName = (typeof CHECKS)[number];

export interface CheckOutcome {
  readonly check: CheckName;
  /** `not_reached`: it cannot be told, because of what an earlier one has refused. */
  readonly outcome: 'passes' | 'refuses' | 'not_reached';
  /** What its client would get, if no earlier check refused. */
  readonly refusal: GatewayError | null;
}

/**
 * Why a deployment is not in the route: set out of use, its provider not set up, without a price in force; ruled out by the
 * request's `routing`; it cannot do what is asked; its provider has too many calls in flight, has asked for a pause, or it
 * has failed too often; or there are as many before it as may be tried.
 */
export type LeftOutReason =
  DeploymentObstacle | RulingConstraint | 'unsupported' | 'full' | 'rate_limited' | 'breaker_open' | 'not_needed';

export interface LeftOutDeployment {
  readonly model: string;
  readonly deploymentId: string;
  readonly provider: string;
  readonly reason: LeftOutReason;
  /** The field of the request that its adapter does not take, where it says which. */
  readonly param: string | null;
}

/** What would become of a request now. */
export interface Explanation {
  /** One of each, in their order. */
  readonly checks: readonly CheckOutcome[];
  /** The request; `null`: it is not one that its operation understands. */
  readonly input: InferenceInput | null;
  /** Who would be asked, in this order: the route without those whose adapters refuse the request. */
  readonly candidates: readonly Candidate[];
  readonly leftOut: readonly LeftOutDeployment[];
  readonly price: PricedRoute | null;
  /** What counts towards the limits of tokens. */
  readonly limitedTokens: number | null;
  readonly limits: readonly LimitStanding[];
  readonly budgets: readonly BudgetStanding[];
}
