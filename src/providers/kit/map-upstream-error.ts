import { ProviderError, type ProviderErrorOptions, type ProviderPhase } from '../contract/provider-error';
import { parseRetryAfter } from '../../core/types/retry-after';
import { toSafeText } from './safe-text';
import { readFault, toFault, type UpstreamFault } from './upstream-fault';
import type { UpstreamHeaders } from './upstream-headers';

/** A rate limit without a `Retry-After` still needs one. */
const DEFAULT_RETRY_AFTER_SECONDS = 10;

/** The gateway's account is empty or blocked: waiting does not help, and the client's own credits are fine. */
const MONEY =
  /insufficient_quota|quota_exceeded|billing|credit_balance|insufficient_(balance|credits|funds)|spend_limit|payment/i;
const CREDENTIAL = /api_?key|authentication|unauthenticated|unauthorized|permission|access_denied/i;
const CONTENT_POLICY = /content_?(policy|filter)|moderation|responsible_?ai|safety_violation/i;
/** Faults in the client's request. Any other status below 500 is between the gateway and its upstream. */
const CLIENT_FAULT =
  /invalid_request|bad_?request|user_error|validation|unprocessable|invalid_argument|context_(length|size)|unsupported_(value|parameter)/i;
/** Matches a code or a message: every vendor words it differently. */
const CONTEXT_OVERFLOW =
  /context_(length|size|window)|(maximum|available) context|context (window|size)|prompt is too long|input token count/i;
const UNKNOWN_MODEL = /model_not_found|unsupported_model|model_not_available|deploymentnotfound|invalid_model/i;
/** Fields that the gateway writes itself: errors about them do not concern the client. */
const OWN_FIELDS = new Set(['model', 'stream', 'stream_options']);

export interface UpstreamRefusal {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: Buffer;
  readonly phase: ProviderPhase;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. */
  readonly now: number;
}

/** Maps an upstream's refusal to the error that the gateway returns. */
export function mapUpstreamError({ status, headers, body, phase, now }: UpstreamRefusal): ProviderError {
  const fault = readFault(body);
  return toProviderError({
    status: status < 300 ? statusOf(fault) : status,
    fault,
    phase,
    retryAfterSeconds: parseRetryAfter(headers, now),
    upstreamRequestId: firstOf(headers['x-request-id'] ?? headers['request-id']),
  });
}

/** The same for an error inside a reply with status 200: `document` holds it as `error`. */
export function mapInBandError(document: unknown, phase: ProviderPhase): ProviderError {
  const fault = toFault(document);
  return toProviderError({ status: statusOf(fault), fault, phase });
}

interface Refusal {
  readonly status: number;
  readonly fault: UpstreamFault;
  readonly phase: ProviderPhase;
  readonly retryAfterSeconds?: number;
  readonly upstreamRequestId?: string;
}

function toProviderError(refusal: Refusal): ProviderError {
  const { status, fault, phase, retryAfterSeconds } = refusal;
  const names = `${fault.code} ${fault.type}`;
  const options: ProviderErrorOptions = {
    phase,
    fallback: true,
    upstream: {
      status,
      code: fault.code.slice(0, 100),
      type: fault.type.slice(0, 100),
      requestId: refusal.upstreamRequestId?.slice(0, 100),
    },
  };

  if (status >= 400 && status < 500 && CONTENT_POLICY.test(names)) return contentRefused(fault, options);
  if (status === 402 || (status < 500 && MONEY.test(names))) return accountRefused(options);
  if (status === 429) {
    return new ProviderError('provider_rate_limited', 'The provider is limiting the rate of requests.', {
      ...options,
      retryAfterSeconds: retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS,
    });
  }
  if (status === 401 || status === 403 || (status === 400 && CREDENTIAL.test(names))) return accountRefused(options);
  if (status === 408 || status === 504 || status === 524) {
    return new ProviderError('provider_timeout', 'The provider did not answer in time.', {
      ...options,
      retryAfterSeconds,
    });
  }
  if (status >= 500) {
    return new ProviderError('provider_unavailable', 'The provider is unavailable.', {
      ...options,
      retrySame: true,
      retryAfterSeconds,
    });
  }
  if (isClientFault(status, names, fault)) return requestRefused(fault, options);
  return new ProviderError('provider_error', 'The provider could not process the request.', options);
}

function isClientFault(status: number, names: string, { param }: UpstreamFault): boolean {
  if (status === 413) return true;
  if (status !== 400 && status !== 422) return false;
  if (param !== undefined && OWN_FIELDS.has(param.split(/[.[]/, 1)[0] ?? '')) return false;
  return CLIENT_FAULT.test(names) && !UNKNOWN_MODEL.test(names);
}

/** The operator's key or account. Never 401, 402 or 403, which would blame the client's own key. */
function accountRefused(options: ProviderErrorOptions): ProviderError {
  return new ProviderError('provider_error', 'The provider refused the gateway’s account.', {
    ...options,
    credentialRefused: true,
  });
}

function requestRefused(fault: UpstreamFault, options: ProviderErrorOptions): ProviderError {
  // Agents shorten a conversation when they match this wording, which is OpenAI's.
  const tooLong = CONTEXT_OVERFLOW.test(`${fault.code} ${fault.type} ${fault.message}`);
  const message = tooLong
    ? 'The request exceeds the maximum context length of the model; see details.'
    : 'The provider refused the request as invalid; see details.';
  return new ProviderError('validation_failed', message, {
    ...options,
    fallback: false,
    ...(tooLong && { otherModel: true }),
    param: fault.param,
    details: publicDetails(fault),
  });
}

function contentRefused(fault: UpstreamFault, options: ProviderErrorOptions): ProviderError {
  return new ProviderError('validation_failed', 'The provider’s content policy refused the request.', {
    ...options,
    fallback: false,
    details: { reason: 'content_filtered', ...publicDetails(fault) },
  });
}

function publicDetails({ code, type, message }: UpstreamFault): Record<string, unknown> {
  return { provider_code: toSafeText(code || type) || null, provider_message: toSafeText(message) || null };
}

/** Status of a fault without one: its numeric code if present, else derived from its code and type. */
function statusOf({ code, type }: UpstreamFault): number {
  if (/^[45]\d\d$/.test(code)) return Number(code);
  const names = `${code} ${type}`;
  if (/rate_?limit|too_many_requests|resource_exhausted/i.test(names) || MONEY.test(names)) return 429;
  if (/timeout|deadline_exceeded/i.test(names)) return 504;
  if (/overloaded|unavailable|server_error|internal/i.test(names)) return 503;
  if (CLIENT_FAULT.test(names) || CONTENT_POLICY.test(names)) return 400;
  if (CREDENTIAL.test(names)) return 401;
  return 200;
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
