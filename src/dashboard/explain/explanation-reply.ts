import type { Operation } from '../../billing/usage/operations';
import type { BudgetStanding } from '../../billing/ledger/spending-outlook.service';
import type { GatewayError } from '../../core/errors/gateway-error';
import { microToJson } from '../../core/types/micro';
import type { Principal } from '../../core/types/request-context';
import type { components } from '../../contract/dashboard';
import type { CheckOutcome, Explanation, LeftOutDeployment } from '../../inference/explanation.types';
import type { Candidate, InferenceInput } from '../../inference/inference.types';
import { estimatedCost } from '../../inference/route-planner';
import type { LimitStanding } from '../../auth/rate-limits/limit-check';

type Schemas = components['schemas'];

/** Parameters of the explanation other than the request. */
interface ExplainedCircumstances {
  readonly operation: Operation;
  /** `null`: not given. */
  readonly clientAddress: string | null;
}

/** The document's `Explanation`. */
export function toExplanationReply(
  { organizationId, keyId }: Principal,
  { operation, clientAddress }: ExplainedCircumstances,
  { checks, input, candidates, leftOut, price, limitedTokens, limits, budgets }: Explanation,
): Schemas['Explanation'] {
  const first = checks.find(({ refusal }) => refusal !== null)?.refusal ?? null;
  return {
    object: 'explanation',
    organization_id: organizationId,
    key_id: keyId,
    operation,
    client_ip: clientAddress,
    accepted: first === null,
    error: toError(first),
    checks: checks.map(toCheck),
    model: input?.model.id ?? null,
    fallback_models: input?.fallbacks.map(({ id }) => id) ?? [],
    candidates: input === null ? [] : candidates.map((candidate) => toCandidate(candidate, input)),
    left_out: leftOut.map(toLeftOut),
    estimated_tokens: limitedTokens,
    estimated_cost_micro: price === null ? null : microToJson(price.estimateMicro),
    hold_micro: price === null ? null : microToJson(price.holdMicro),
    limits: limits.map(toLimit),
    budgets: budgets.map(toBudget),
  };
}

function toError(refusal: GatewayError): Schemas['ExplainedError'];
function toError(refusal: GatewayError | null): Schemas['ExplainedError'] | null;
function toError(refusal: GatewayError | null): Schemas['ExplainedError'] | null {
  if (refusal === null) return null;
  // The explained request has no id.
  const { request_id: _requestId, ...error } = refusal.toEnvelope('').error;
  return { status: refusal.status, ...error };
}

function toCheck({ check, outcome, refusal }: CheckOutcome): Schemas['ExplainedCheck'] {
  return { check, outcome, error: toError(refusal) };
}

function toCandidate(candidate: Candidate, input: InferenceInput): Schemas['ExplainedCandidate'] {
  const { model, deployment, provider, priceVersion } = candidate;
  const costMicro = estimatedCost(candidate, input);
  return {
    model: model.id,
    deployment_id: deployment.id,
    provider: provider.id,
    price_version_id: priceVersion.id,
    pricing: priceVersion.price as Schemas['Pricing'],
    estimated_cost_micro: costMicro === null ? null : microToJson(costMicro),
  };
}

function toLeftOut({ model, deploymentId, provider, reason, param }: LeftOutDeployment): Schemas['LeftOutDeployment'] {
  return { model, deployment_id: deploymentId, provider, reason, param };
}

function toLimit({ scope, kind, limit, remaining, wouldRefuse }: LimitStanding): Schemas['ExplainedLimit'] {
  return { scope, kind, limit, remaining, refuses: wouldRefuse };
}

function toBudget({ budget, limitMicro, usedMicro, wouldRefuse }: BudgetStanding): Schemas['ExplainedBudget'] {
  return {
    budget,
    limit_micro: microToJson(limitMicro),
    used_micro: microToJson(usedMicro),
    refuses: wouldRefuse,
  };
}
