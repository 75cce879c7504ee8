import type { ProviderError } from '../../contract/provider-error';
import type { JsonObject } from '../../kit/json';
import { moderatedFailure, type QueueFailure, queueFailure } from '../../kit/mapped-queue';

/**
 * Kinds of failures: of models (https://fal.ai/docs/documentation/model-apis/errors) and of the platform
 * (https://fal.ai/docs/documentation/model-apis/request-errors).
 */
const MODERATED = /content_policy|moderat|nsfw|safety/i;
const CANCELED = /client_cancelled|client_disconnected/;
const TOO_LATE = /^(?:request|startup)_timeout/;
const TIMED_OUT = /generation_timeout|timeout/;
const UNAVAILABLE = /^runner_|downstream_service|internal_(?:server_)?error|bad_request_to_runner/;
const CLIENT_FAULT = /^(?:image|audio|video|file|feature)_|_error$|unsupported|^bad_request$/;
const INVALID_VALUE = /^(?:missing|greater|less|multiple|one_of|sequence|string|int|float|enum|literal|value)/;
/** The status of a canceled request that was running. */
const CLIENT_CLOSED = 499;

/** The failure that a status document reports; `null`: none. */
export function reportedFailure({ error, error_type: type }: JsonObject): QueueFailure | null {
  if ((error === undefined || error === null || error === '') && typeof type !== 'string') return null;
  return toFailure(typeof type === 'string' ? type : '', {});
}

/**
 * The failure of the request, if reading its result was refused because of it; `null`: the result could not be read,
 * which says nothing about the request.
 * @param isFailed whether the status has reported a failure
 */
export function falFailureOf({ code, options }: ProviderError, isFailed: boolean): QueueFailure | null {
  const { status = 0, code: kind = '', type = '' } = options.upstream ?? {};
  const details = { ...options.details, ...(options.param !== undefined && { param: options.param }) };
  if (code === 'validation_failed' && isModeration(options)) return toFailure('content_policy', details);
  if (status === CLIENT_CLOSED) return toFailure('client_cancelled', details);
  // A 400 says less than the reported status, and may concern the gateway's key instead of the request.
  const isRefused = status === 422 || (status === 400 && !isFailed && options.credentialRefused !== true);
  if (isRefused) return toFailure(kind || 'value_error', details);
  // Named errors are fal's. Without a name, a proxy between fal and the gateway may have answered.
  const isNamed = kind !== '' || type !== '';
  return status >= 500 && isNamed ? toFailure(kind || type, details) : null;
}

function isModeration({ details }: ProviderError['options']): boolean {
  return details?.['reason'] === 'content_filtered';
}

function toFailure(kind: string, { param, ...facts }: Readonly<Record<string, unknown>>): QueueFailure {
  const about = { kind, ...(typeof param === 'string' && { param }) };
  if (CANCELED.test(kind)) return queueFailure('canceled', 'provider_error', 'The provider canceled the job.', about);
  if (TOO_LATE.test(kind)) return queueFailure('expired', 'provider_timeout', NOT_IN_TIME, about);
  if (MODERATED.test(kind)) return moderatedFailure(kind, facts);
  // Checked before timeouts, since connecting to a runner may time out.
  if (UNAVAILABLE.test(kind)) {
    return queueFailure('failed', 'provider_unavailable', 'The provider is unavailable.', about);
  }
  if (TIMED_OUT.test(kind)) return queueFailure('failed', 'provider_timeout', NOT_IN_TIME, about);
  if (CLIENT_FAULT.test(kind) || INVALID_VALUE.test(kind)) {
    const message = 'The provider refused the request as invalid; see details.';
    return queueFailure('failed', 'validation_failed', message, { ...about, details: facts });
  }
  return queueFailure('failed', 'provider_error', 'The provider failed to make the result.', about);
}

const NOT_IN_TIME = 'The provider did not finish the job in time.';
