import { errors } from 'undici';
import { parseRetryAfter } from '../../core/types/retry-after';
import type { Quirks } from '../contract/provider-call';
import { ProviderError, type ProviderErrorOptions, type ProviderPhase } from '../contract/provider-error';
import { isJsonObject } from './json';
import { limitReset } from './limit-reset';
import { toSafeText } from './safe-text';
import { readFault, toFault, type UpstreamFault } from './upstream-fault';

/** The delay for rate limits without a `Retry-After`. */
const DEFAULT_RETRY_AFTER_SECONDS = 10;

/**
 * The gateway's account is empty or blocked: waiting does not help, and the client's own credits are not affected.
 * Cerebras's quotas of requests and tokens per minute do refill, so they do not match
 * (https://github.com/nminaya/grammar-nazi-bot/issues/957). Groq has its own code for its spend limit
 * (https://console.groq.com/docs/spend-limits), and so has Ark for an account in arrears
 * (https://volcengine.com/docs/82379/1299023).
 */
const MONEY =
  /insufficient_quota|(?<!request_|token_)quota_exceeded|exceeded_current_quota|billing|credit_balance|insufficient_(balance|credits|funds)|spend_limit|blocked_api_access|payment|arrearage|overdue/i;
/**
 * The same, for vendors whose message is the only sign: Z.ai answers 429 with a number
 * (https://docs.z.ai/api-reference/api-code), MiniMax 500 with `api_error`
 * (https://github.com/MiniMax-AI/MiniMax-M2/issues/62), fal 403 (https://github.com/fal-ai/fal/issues/1147), Fireworks
 * 412 (https://github.com/pollinations/pollinations/issues/12136).
 */
const MONEY_MESSAGE =
  /\binsufficient balance\b|\bexhausted balance\b|\bin arrears\b|\b(credits|funds) are depleted\b|\bspending cap\b|\bspend(ing)? limit\b/i;
/** Statuses whose message may quote the request: only a vendor's complete sentence counts as about the account. */
const ABOUT_REQUEST: ReadonlySet<number> = new Set([400, 404, 409, 413, 415, 422]);
/**
 * Sentences about credit that come with a 400: Anthropic (https://platform.claude.com/docs/en/api/errors), AssemblyAI
 * (https://www.assemblyai.com/docs/guides/common_errors_and_solutions) and Runway
 * (https://github.com/runwayml/sdk-node/issues/28).
 */
const MONEY_SENTENCE =
  /^(insufficient balance|your credit balance is too low|you have reached your specified (workspace )?api usage limits|your current account balance is negative|you do not have enough credits)\b/i;
/** Google's 429 for a model that the plan does not include: https://github.com/continuedev/continue/issues/12205 */
const NO_QUOTA_MESSAGE = /\blimit: 0\b/;
/** Z.ai's 429 for an account that is inactive, locked or without a plan (https://docs.z.ai/api-reference/api-code). */
const LOCKED_ACCOUNT = /^(111[0-2]|1121|1309)$/;
const CREDENTIAL =
  /api_?key|authentication|unauthenticated|unauthorized|permission|access_denied|organization_(on_hold|restricted)|cmek_/i;
/** Several vendors answer 400 to a wrong key. */
const CREDENTIAL_SENTENCE = /^((incorrect|invalid) api key|api key not valid)\b/i;
const CONTENT_POLICY =
  /content_?(against_)?(policy|filter)|moderat(?:ion|ed)|responsible_?ai|safety_violation|data_?inspection|\b(?:bio|cyber)_policy\b|policy_violation/i;
/**
 * Refusals by a content policy, in the vendors' words. DeepSeek's 400 for content has the code of any invalid request
 * (https://github.com/deepseek-ai/awesome-deepseek-integration/issues/13), and xAI's 403 has that of a key without
 * permission (https://github.com/QuantumNous/new-api/blob/main/service/violation_fee.go). MiniMax's 422 only has a
 * number at the end (https://platform.minimax.io/docs/api-reference/video-generation-v2-create), and Z.ai's 400 has the
 * code 1301. OpenAI's `invalid_prompt` has the type of an invalid request, and OpenRouter also uses it for malformed
 * requests (https://github.com/BeehiveInnovations/pal-mcp-server/issues/178).
 */
const CONTENT_POLICY_MESSAGE =
  /^content exists risk\b|\bcontent violates usage guidelines\b|\bunsafe or sensitive content\b|\bSAFETY_CHECK_TYPE|\bflagged as potentially violating\b|\(102[67]\)$/i;
/** Faults in the client's request. Any other status below 500 concerns only the gateway and its upstream. */
const CLIENT_FAULT =
  /invalid_request|bad[_ ]?request|user_error|validation|unprocessable|invalid[-_ ]argument|invalid_?parameter|context_(length|size)|unsupported_(value|parameter)|max_tokens_per_request/i;
/**
 * Z.ai's numbers for invalid parameters and prompts, which come with a sentence
 * (https://docs.z.ai/api-reference/api-code).
 */
const CLIENT_FAULT_CODE = /^12(1[0345]|61)$/;
/** Cohere's errors are sentences: https://github.com/continuedev/continue/issues/3881 */
const CLIENT_FAULT_MESSAGE = /^invalid request: /i;
/** llama.cpp's 500 for an input that does not fit its batch: https://github.com/ggml-org/llama.cpp/issues/11105 */
const BATCH_OVERFLOW = /\btoo large to process\b/i;
/** Matches a code or a message, since every vendor words it differently. */
const CONTEXT_OVERFLOW =
  /too large to process|context[_ ](length|size|window)|(maximum|available) context|maximum prompt length|(prompt|input) (is )?too long|prompt exceeds max|maximum allowed input length|supported sequence length|input token count|range of input length|model token limit|reduce the length of the messages|too many tokens/i;
/** Groq answers 400 `model_terms_required` until the operator has accepted the terms of Orpheus in its console. */
const UNKNOWN_MODEL =
  /model_not_found|unsupported_model|model_not_available|model_decommissioned|model_terms_required|deploymentnotfound|invalid_model/i;
/**
 * xAI's 400 for a model or feature that it does not offer to the account, with the code of any invalid request: a model
 * that has ended (https://github.com/definableai/definable.ai/issues/73), videos for a team whose data it does not keep
 * (https://github.com/phuryn/grok-build-vscode/issues/100) or in 1080p (https://github.com/lidge-jun/progrok).
 */
const NOT_OFFERED_MESSAGE =
  /^(model not found|zero data retention teams must|\d+p video resolution is not available for your team)\b/i;
/** Groq's 400 for a fault in its model's output: https://github.com/build-with-groq/g1/pull/23 */
const MODEL_FAULT = /tool_use_failed|json_validate_failed/i;
/** Fields that only the gateway writes: errors about them do not concern the client. */
const OWN_FIELDS = new Set(['model', 'stream', 'stream_options']);

/** Headers of an upstream's reply, by lower-case name. */
export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface UpstreamRefusal {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: Buffer;
  readonly phase: ProviderPhase;
  /** Milliseconds since the epoch, to interpret a `Retry-After` that is a date. */
  readonly now: number;
  readonly quirks?: Pick<Quirks, 'quotaIsRateLimit' | 'plainRefusals'>;
}

/** Maps an upstream's refusal to the error that the gateway returns. */
export function mapUpstreamError({ status, headers, body, phase, now, quirks }: UpstreamRefusal): ProviderError {
  const fault = readFault(body);
  return toProviderError({
    status: status < 300 ? statusOf(fault) : status,
    fault,
    phase,
    retryAfterSeconds: parseRetryAfter(headers, now) ?? fault.retryAfterSeconds ?? limitReset(headers, now),
    upstreamRequestId: firstOf(headers['x-request-id'] ?? headers['request-id']),
    quirks,
  });
}

/** Maps an error inside a reply with status 200, where `document` has it in `error`. */
export function mapInBandError(document: unknown, phase: ProviderPhase): ProviderError {
  const fault = toFault(document);
  const status = statedStatus(document) ?? statusOf(fault);
  return toProviderError({ status, fault, phase, retryAfterSeconds: fault.retryAfterSeconds });
}

interface Refusal {
  readonly status: number;
  readonly fault: UpstreamFault;
  readonly phase: ProviderPhase;
  readonly retryAfterSeconds?: number;
  readonly upstreamRequestId?: string;
  readonly quirks?: UpstreamRefusal['quirks'];
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

  if (status >= 400 && status < 500 && namesContentPolicy(names, fault)) return contentRefused(fault, options);
  if (isOutOfMoney(refusal, names)) return accountRefused({ ...options, outOfCredit: true });
  if (status === 429 || status === 402) {
    return new ProviderError('provider_rate_limited', 'The provider is limiting the rate of requests.', {
      ...options,
      retryAfterSeconds: retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS,
    });
  }
  // Together: https://docs.together.ai/docs/error-codes
  if (status === 403 && CONTEXT_OVERFLOW.test(fault.message)) return requestRefused(fault, options);
  if (status === 401 || status === 403) return accountRefused(options);
  if (status === 400 && namesCredential(fault)) return accountRefused(options);
  if (status === 408 || status === 504 || status === 524) {
    return new ProviderError('provider_timeout', 'The provider did not answer in time.', {
      ...options,
      retryAfterSeconds,
    });
  }
  if (status === 500 && BATCH_OVERFLOW.test(fault.message)) return requestRefused(fault, options);
  if (status >= 500) {
    return new ProviderError('provider_unavailable', 'The provider is unavailable.', {
      ...options,
      retrySame: true,
      retryAfterSeconds,
    });
  }
  const notOffered = status === 400 && NOT_OFFERED_MESSAGE.test(fault.message);
  if (!notOffered && isClientFault(refusal, names)) return requestRefused(fault, options);
  return new ProviderError('provider_error', 'The provider could not process the request.', {
    ...options,
    ...(notOffered && { notOffered }),
  });
}

/**
 * A 402 with a time to retry is a limit on work in flight
 * (https://openrouter.ai/docs/api/reference/errors-and-debugging).
 */
function isOutOfMoney({ status, fault, retryAfterSeconds, quirks }: Refusal, names: string): boolean {
  if (status === 402) return retryAfterSeconds === undefined;
  if (status === 429 && LOCKED_ACCOUNT.test(fault.code)) return true;
  // Alibaba's exhausted free quota has the same code.
  if (status === 429 && quirks?.quotaIsRateLimit === true && !/\bfree\b/i.test(fault.message)) return false;
  if (status === 429 && NO_QUOTA_MESSAGE.test(fault.message)) return true;
  if (status < 500 && MONEY.test(names)) return true;
  if (ABOUT_REQUEST.has(status)) return MONEY_SENTENCE.test(fault.message);
  return status >= 400 && MONEY_MESSAGE.test(fault.message);
}

function namesContentPolicy(names: string, { message }: UpstreamFault): boolean {
  return CONTENT_POLICY.test(names) || CONTENT_POLICY_MESSAGE.test(message);
}

function namesCredential({ code, type, reason, message }: UpstreamFault): boolean {
  return CREDENTIAL.test(`${code} ${type} ${reason ?? ''}`) || CREDENTIAL_SENTENCE.test(message);
}

function isClientFault({ status, fault, quirks }: Refusal, names: string): boolean {
  const { code, param, message } = fault;
  // For Groq, more tokens than the account may use per minute:
  // https://github.com/HunorLaczko/ha-groq-cloud-api/issues/27
  if (status === 413) return !/rate_limit/i.test(names);
  if (status === 400 && quirks?.plainRefusals === true && message !== '') return true;
  if (status !== 400 && status !== 422) return false;
  if (param !== undefined && OWN_FIELDS.has(param.split(/[.[]/, 1)[0] ?? '')) return false;
  const isFault =
    CLIENT_FAULT.test(names) ||
    CLIENT_FAULT_CODE.test(code) ||
    CLIENT_FAULT_MESSAGE.test(message) ||
    CONTEXT_OVERFLOW.test(message);
  return isFault && !UNKNOWN_MODEL.test(names) && !MODEL_FAULT.test(names);
}

/**
 * The upstream refused the operator's key or account. Never 401, 402 or 403, which would blame the client's own key.
 */
function accountRefused(options: ProviderErrorOptions): ProviderError {
  return new ProviderError('provider_error', 'The provider refused the gateway’s account.', {
    ...options,
    credentialRefused: true,
  });
}

function requestRefused(fault: UpstreamFault, options: ProviderErrorOptions): ProviderError {
  // Agents shorten a conversation when they match OpenAI's wording.
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

/** The upstream refused the request because of its content, or withheld the result. */
export function contentFiltered(
  options: Partial<ProviderErrorOptions> = {},
  providerCode: string | null = null,
): ProviderError {
  return new ProviderError('validation_failed', 'The provider’s content policy refused the request.', {
    phase: 'first_token',
    ...options,
    fallback: false,
    details: { reason: 'content_filtered', provider_code: providerCode, provider_message: null },
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

/** The status that Cerebras states inside the document (`ErrorChunkResponse` in its SDK). */
function statedStatus(document: unknown): number | null {
  const { status_code: status } = isJsonObject(document) ? document : {};
  return typeof status === 'number' && status >= 400 && status < 600 ? status : null;
}

/** The status of a fault that states none: its numeric code if it has one, else derived from its code and type. */
function statusOf({ code, type }: UpstreamFault): number {
  if (/^[45]\d\d$/.test(code)) return Number(code);
  const names = `${code} ${type}`;
  if (/rate_?limit|too_many_requests|resource_exhausted/i.test(names) || MONEY.test(names)) return 429;
  if (/timeout|deadline_exceeded/i.test(names)) return 504;
  if (/overloaded|unavailable|server_error|api_error|internal/i.test(names)) return 503;
  if (CLIENT_FAULT.test(names) || CONTENT_POLICY.test(names)) return 400;
  if (CREDENTIAL.test(names)) return 401;
  return 200;
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/**
 * A failed connection. In phase `connect` nothing has been sent, so even non-idempotent work may be retried. From
 * `headers` on, the upstream may have started the work and may bill it.
 */
export function transportFailure(phase: ProviderPhase, cause: unknown): ProviderError {
  switch (phase) {
    case 'connect':
      return new ProviderError('provider_unavailable', 'The provider could not be reached.', {
        phase,
        fallback: true,
        retrySame: true,
        cause,
      });
    case 'headers':
      return isProtocolViolation(cause)
        ? new ProviderError('provider_error', 'The provider sent an invalid response.', {
            phase,
            fallback: true,
            outcomeUnknown: true,
            cause,
          })
        : new ProviderError('provider_unavailable', 'The provider closed the connection without a response.', {
            phase,
            fallback: true,
            outcomeUnknown: true,
            cause,
          });
    case 'first_token':
      return new ProviderError(
        'provider_disconnect',
        'The provider closed the connection before the response was complete.',
        {
          phase,
          fallback: true,
          outcomeUnknown: true,
          cause,
        },
      );
    default:
      return new ProviderError('stream_interrupted', 'The connection to the provider failed.', {
        phase,
        fallback: false,
        cause,
      });
  }
}

/**
 * An expired time limit. In the middle of a response it is reported as an interruption: `provider_timeout` means that
 * the provider did not respond and no fallback took over.
 */
export function deadlineFailure(phase: ProviderPhase): ProviderError {
  if (phase === 'connect') {
    return new ProviderError('provider_unavailable', 'The provider could not be reached in time.', {
      phase,
      fallback: true,
      retrySame: true,
    });
  }
  if (phase === 'stream') {
    return new ProviderError('stream_interrupted', 'The provider stopped responding in the middle of the response.', {
      phase,
      fallback: false,
    });
  }
  return new ProviderError('provider_timeout', 'The provider did not respond in time.', {
    phase,
    fallback: true,
    outcomeUnknown: true,
  });
}

/** The error after the call's signal was aborted. It is not read, but every call must settle. */
export function cancellation(phase: ProviderPhase, reason: unknown): ProviderError {
  return new ProviderError('provider_disconnect', 'The call was cancelled.', {
    phase,
    fallback: false,
    outcomeUnknown: phase !== 'connect',
    cause: reason,
  });
}

/** Unparsable HTTP is the upstream's fault, not the network's. */
function isProtocolViolation(cause: unknown): boolean {
  return cause instanceof errors.HTTPParserError || cause instanceof errors.HeadersOverflowError;
}

/** Codes that a client may see for a failure in the middle of a stream; all others become `stream_interrupted`. */
const STREAM_FAILURES: ReadonlySet<string> = new Set(['stream_interrupted', 'provider_disconnect']);

/** A failure after the first token can no longer be an HTTP status, and failover is no longer possible. */
export function toStreamFailure(error: ProviderError): ProviderError {
  if (error.options.phase === 'stream' && STREAM_FAILURES.has(error.code)) return error;
  return new ProviderError('stream_interrupted', 'The provider failed in the middle of the response.', {
    phase: 'stream',
    fallback: false,
    upstream: error.options.upstream,
    credentialRefused: error.options.credentialRefused,
    cause: error,
  });
}
