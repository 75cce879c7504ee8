import type { ExplainedBudget, ExplainedCheck, ExplainedLimit, LeftOutDeployment } from '../../../contract/dashboard';

export const CHECKS: Readonly<Record<ExplainedCheck['check'], string>> = {
  key: 'Key and address',
  request: 'Body and permissions',
  route: 'Deployments',
  price: 'Price',
  limits: 'Limits',
  budgets: 'Budgets and balance',
  support: 'Support for all fields',
};

export const OUTCOMES: Readonly<Record<ExplainedCheck['outcome'], string>> = {
  passes: 'passes',
  refuses: 'refuses',
  not_reached: 'cannot be determined',
};

const REASONS: Readonly<Record<LeftOutDeployment['reason'], string>> = {
  disabled: 'The operator has disabled it',
  retired: 'Its provider no longer serves it',
  provider_not_configured: 'The operator has not configured its provider',
  unpriced: 'It has no price',
  only: 'routing.only of the request does not name its provider',
  ignore: 'routing.ignore of the request names its provider',
  max_price: 'It costs more than routing.max_price of the request',
  unsupported: 'It does not support this request',
  full: 'Its provider is at its limit of concurrent requests',
  rate_limited: 'Its provider is rate limiting requests',
  breaker_open: 'It failed repeatedly, and its circuit breaker is open',
  not_needed: 'The candidates before it use up all attempts',
};

/** Why a deployment would not be called. */
export function reasonInWords({ reason, param }: LeftOutDeployment): string {
  return reason === 'unsupported' && param !== null ? `It does not support the field ${param}` : REASONS[reason];
}

const SCOPES: Readonly<Record<ExplainedLimit['scope'], string>> = {
  key: 'Key',
  organization: 'Organization',
  model: 'Model',
  global: 'Whole service',
};
const KINDS: Readonly<Record<ExplainedLimit['kind'], string>> = {
  requests_per_second: 'requests per second',
  requests_per_minute: 'requests per minute',
  tokens_per_minute: 'tokens per minute',
  concurrency: 'concurrent requests',
};

/** `Key: requests per minute`. */
export function limitInWords({ scope, kind }: ExplainedLimit): string {
  return `${SCOPES[scope]}: ${KINDS[kind]}`;
}

export const BUDGETS: Readonly<Record<ExplainedBudget['budget'], string>> = {
  key_daily: 'Key, today (UTC)',
  key_monthly: 'Key, this month (UTC)',
  organization_monthly: 'Organization, this month (UTC)',
  balance: 'Balance',
};
