import type { BudgetStanding } from '../billing/ledger/spending-outlook.service';
import type { GatewayError } from '../core/errors/gateway-error';
import type { Micro } from '../core/types/micro';
import type { LimitStanding } from '../auth/rate-limits/limit-check';
import type { DeploymentObstacle } from '../models/serving';
import type { Candidate, InferenceInput } from './inference.types';
import type { RulingConstraint } from './route-planner';

/** The estimated cost of a request and its hold. */
export interface PricedRoute {
  readonly estimateMicro: Micro;
  readonly holdMicro: Micro;
}

/** A parsed request, with the steps that its operation overrides. */
export interface ExplainedRequest {
  readonly input: InferenceInput;
  /** Default: the route planner. @throws GatewayError when no candidate is left */
  plan?(): readonly Candidate[];
  /** Default: holds the worst-case cost. @throws GatewayError when the price or the caller's cap refuses */
  price?(candidates: readonly Candidate[]): PricedRoute;
  /**
   * Checks what the candidate's adapter refuses before sending; the next candidate is then tried. Default: no check.
   * @throws ProviderError, or GatewayError where the endpoint translates it
   */
  assertSupportedBy?(candidate: Candidate): void;
  /** Tokens that count towards rate limits. Default: those of the estimate. */
  readonly limitedTokens?: number;
}

/** The checks of a request, in order. */
export const CHECKS = ['key', 'request', 'route', 'price', 'limits', 'budgets', 'support'] as const;
export type CheckName = (typeof CHECKS)[number];

/** A guard's check, which runs before the body is read. */
export interface Judgment {
  readonly check: CheckName;
  /** @throws GatewayError */
  judge(): void;
}

export interface CheckOutcome {
  readonly check: CheckName;
  /** `not_reached`: unknown, because an earlier check refused. */
  readonly outcome: 'passes' | 'refuses' | 'not_reached';
  /** The error that the client would get if no earlier check refused. */
  readonly refusal: GatewayError | null;
}

/**
 * Why a deployment is not in the route: it is disabled, retired by its provider, has no configured provider or no price
 * in force; the request's `routing` excludes it; it lacks a feature; its provider is at capacity or rate limited; its
 * circuit breaker is open; or the route already has enough candidates.
 */
export type LeftOutReason =
  DeploymentObstacle | RulingConstraint | 'unsupported' | 'full' | 'rate_limited' | 'breaker_open' | 'not_needed';

export interface LeftOutDeployment {
  readonly model: string;
  readonly deploymentId: string;
  readonly provider: string;
  readonly reason: LeftOutReason;
  /** The request field that its adapter does not support, if known. */
  readonly param: string | null;
}

/** The predicted outcome of a request if it were sent now. */
export interface Explanation {
  /** One outcome per check, in order. */
  readonly checks: readonly CheckOutcome[];
  /** The parsed request; `null` when it is invalid. */
  readonly input: InferenceInput | null;
  /** The candidates that would be called, in order: the route without those whose adapters refuse the request. */
  readonly candidates: readonly Candidate[];
  readonly leftOut: readonly LeftOutDeployment[];
  readonly price: PricedRoute | null;
  /** Tokens that count towards rate limits. */
  readonly limitedTokens: number | null;
  readonly limits: readonly LimitStanding[];
  readonly budgets: readonly BudgetStanding[];
}
