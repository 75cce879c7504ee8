/**
 * Every error the gateway can return, one row per code.
 *
 * `status` and `type` go on the wire. `retry` is whether clients may retry: it decides the `x-should-retry` header,
 * because official clients otherwise retry every 409 and 5xx by default. `surface` separates codes of the dashboard
 * from those of `/v1`.
 */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'quota_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'provider_error'
  | 'timeout_error'
  | 'internal_error';

/** `with-retry-after`: only when the response has a `retry_after`. */
export type RetryRule = 'no' | 'yes' | 'with-retry-after';

export interface ErrorDefinition {
  readonly status: number;
  readonly type: ErrorType;
  readonly retry: RetryRule;
  readonly surface: 'api' | 'dashboard';
}

const api = (status: number, type: ErrorType, retry: RetryRule = 'no'): ErrorDefinition => ({
  status,
  type,
  retry,
  surface: 'api',
});
const dashboard = (status: number, type: ErrorType): ErrorDefinition => ({
  status,
  type,
  retry: 'no',
  surface: 'dashboard',
});

export const ERROR_CATALOG = {
  idempotency_key_required: api(400, 'invalid_request_error'),
  invalid_json: api(400, 'invalid_request_error'),
  ssrf_blocked: api(400, 'invalid_request_error'),
  validation_failed: api(400, 'invalid_request_error'),
  invalid_api_key: api(401, 'authentication_error'),
  key_disabled: api(401, 'authentication_error'),
  key_expired: api(401, 'authentication_error'),
  key_revoked: api(401, 'authentication_error'),
  invalid_credentials: dashboard(401, 'authentication_error'),
  unauthenticated: dashboard(401, 'authentication_error'),
  budget_exceeded: api(402, 'quota_error'),
  insufficient_credits: api(402, 'quota_error'),
  spending_limit_exceeded: api(402, 'quota_error'),
  purchase_limit_exceeded: dashboard(402, 'quota_error'),
  ip_not_allowed: api(403, 'permission_error'),
  model_not_allowed: api(403, 'permission_error'),
  modality_not_allowed: api(403, 'permission_error'),
  account_disabled: dashboard(403, 'permission_error'),
  csrf_failed: dashboard(403, 'permission_error'),
  email_not_verified: dashboard(403, 'permission_error'),
  forbidden: dashboard(403, 'permission_error'),
  model_not_found: api(404, 'not_found_error'),
  not_found: api(404, 'not_found_error'),
  idempotency_conflict: api(409, 'conflict_error', 'with-retry-after'),
  job_not_cancellable: api(409, 'conflict_error'),
  conflict: dashboard(409, 'conflict_error'),
  max_api_keys_reached: dashboard(409, 'conflict_error'),
  request_too_large: api(413, 'invalid_request_error'),
  unsupported_media_type: api(415, 'invalid_request_error'),
  concurrency_exceeded: api(429, 'rate_limit_error', 'yes'),
  provider_rate_limited: api(429, 'rate_limit_error', 'yes'),
  rate_limited: api(429, 'rate_limit_error', 'yes'),
  tokens_per_minute_exceeded: api(429, 'rate_limit_error', 'yes'),
  internal_error: api(500, 'internal_error', 'yes'),
  not_configured: api(501, 'invalid_request_error'),
  not_implemented: api(501, 'invalid_request_error'),
  provider_disconnect: api(502, 'provider_error', 'yes'),
  provider_error: api(502, 'provider_error', 'yes'),
  stream_interrupted: api(502, 'provider_error', 'yes'),
  no_provider_available: api(503, 'provider_error', 'yes'),
  provider_unavailable: api(503, 'provider_error', 'yes'),
  service_unavailable: api(503, 'internal_error', 'yes'),
  provider_timeout: api(504, 'timeout_error', 'yes'),
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof ERROR_CATALOG;
