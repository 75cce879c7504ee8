import { type GoogleDetails, readGoogleDetails } from './google-details';
import { isJsonObject, type JsonObject, toJsonText } from './json';

/** An upstream's error report, in any of the usual shapes. Fields are raw text: log only. */
export interface UpstreamFault extends GoogleDetails {
  readonly message: string;
  readonly type: string;
  readonly code: string;
  /** Set only if the value looks like a path into the request. */
  readonly param: string | undefined;
}

/** The code for a result that was requested too early. fal states it only in a sentence. */
export const STILL_IN_PROGRESS = 'still_in_progress';

const EMPTY_FAULT: UpstreamFault = { message: '', type: '', code: '', param: undefined };
const PARAM = /^[A-Za-z_][\w.[\]-]{0,199}$/;

/** Reads the fault from an error document; fields are empty for anything else. */
export function readFault(body: Buffer): UpstreamFault {
  try {
    return toFault(JSON.parse(toJsonText(body)));
  } catch {
    return EMPTY_FAULT;
  }
}

/**
 * The fault in a parsed document: `{ error: {…} }`, `{ error: "…" }`, `{ message, type, code }`, `{ detail }`,
 * `{ err_msg, err_code }`, `{ name, errors }`, or an array around any of them.
 */
export function toFault(document: unknown): UpstreamFault {
  if (Array.isArray(document)) return toFault(document[0]);
  if (!isJsonObject(document)) return EMPTY_FAULT;
  const { error } = document;
  if (typeof error === 'string') {
    // `code` is a sentence at xAI (https://github.com/neavo/LinguaGacha/issues/159).
    return { ...EMPTY_FAULT, message: error, type: textOf(document['error_type']), code: textOf(document['code']) };
  }
  const fault = isJsonObject(error) ? error : document;
  // Deepgram: https://developers.deepgram.com/docs/errors
  if (fault['err_msg'] !== undefined) {
    return { ...EMPTY_FAULT, message: textOf(fault['err_msg']), code: textOf(fault['err_code']) };
  }
  // MiniMax: https://platform.minimax.io/docs/api-reference/errorcode
  const { base_resp: base } = document;
  if (isJsonObject(base)) {
    return { ...EMPTY_FAULT, message: textOf(base['status_msg']), code: textOf(base['status_code']) };
  }
  // Stability: https://platform.stability.ai/docs/api-reference
  if (Array.isArray(fault['errors']) && typeof fault['name'] === 'string') {
    return { ...EMPTY_FAULT, message: fault['errors'].map(textOf).join(' '), type: fault['name'] };
  }
  const { message } = fault;
  if (message === undefined && document['detail'] !== undefined) return fromDetail(document['detail'], document);
  const relayed = relayedFault(fault);
  if (relayed !== null) return relayed;
  // Mistral puts the list into `message`.
  if (isJsonObject(message) && message['detail'] !== undefined) return fromDetail(message['detail']);
  return {
    message: textOf(message),
    type: textOf(fault['type']) || textOf(fault['status']) || typeOfRouted(fault['metadata']),
    code: textOf(fault['code']) || detailedCode(fault['details']),
    param: toParam(fault['param']),
    ...readGoogleDetails(fault['details']),
  };
}

/**
 * OpenRouter reports the type of an error next to a numeric code; for a refusal by moderation it reports reasons
 * instead (https://openrouter.ai/docs/api/reference/errors-and-debugging).
 */
function typeOfRouted(metadata: unknown): string {
  if (!isJsonObject(metadata)) return '';
  return textOf(metadata['error_type']) || (Array.isArray(metadata['reasons']) ? 'moderation' : '');
}

/**
 * Why a host behind OpenRouter refused the request: only the host's own document or sentence in `raw` says so. Other
 * statuses need no such detail, because a host's limit or key is not the gateway's.
 */
function relayedFault({ code, message, metadata }: JsonObject): UpstreamFault | null {
  if (code !== 400 || message !== 'Provider returned error' || !isJsonObject(metadata)) return null;
  const { raw } = metadata;
  if (typeof raw !== 'string' || raw === '') return null;
  const relayed = readFault(Buffer.from(raw));
  return { ...relayed, message: relayed.message || raw, code: relayed.code || '400' };
}

/** Anthropic's detailed code, which refines its broad types. */
function detailedCode(details: unknown): string {
  return isJsonObject(details) ? textOf(details['error_code']) : '';
}

/** `detail` of the Python web frameworks: a sentence, or a list of `{ loc, msg, type }` about the request's body. */
function fromDetail(detail: unknown, beside: JsonObject = {}): UpstreamFault {
  if (typeof detail === 'string') return fromSentence(detail, beside);
  const first: unknown = Array.isArray(detail) ? detail[0] : detail;
  if (!isJsonObject(first)) return EMPTY_FAULT;
  if (first['msg'] === undefined) {
    // ElevenLabs: https://elevenlabs.io/docs/eleven-api/resources/errors
    const { message, type, code, status, param } = first;
    return {
      message: textOf(message),
      type: textOf(type) || 'request_validation',
      code: textOf(code) || textOf(status),
      param: toParam(param),
    };
  }
  return {
    message: textOf(first['msg']),
    type: 'request_validation',
    code: textOf(first['type']),
    param: locationOf(first),
  };
}

/**
 * Replicate puts the kind into `title` and the reset of a rate limit into the sentence
 * (https://replicate.com/docs/topics/predictions/rate-limits). fal puts the kind into `error_type`
 * (https://fal.ai/docs/documentation/model-apis/request-errors), NVIDIA into `title`
 * (https://github.com/BerriAI/litellm/issues/4558).
 */
function fromSentence(message: string, { title, error_type: kind }: JsonObject): UpstreamFault {
  const [, seconds] = /\brate limit resets in ~?(\d{1,4})s\b/.exec(message) ?? [];
  const type = textOf(kind) || (/validation|unprocessable/i.test(textOf(title)) ? 'request_validation' : '');
  const code = /\bstill in progress\b/i.test(message) ? STILL_IN_PROGRESS : '';
  return { ...EMPTY_FAULT, message, type, code, ...(seconds !== undefined && { retryAfterSeconds: Number(seconds) }) };
}

function locationOf({ loc }: JsonObject): string | undefined {
  if (!Array.isArray(loc)) return undefined;
  const path = loc[0] === 'body' ? loc.slice(1) : loc;
  const joined = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${textOf(step)}`)).join('');
  return toParam(joined.replace(/^\./, ''));
}

function toParam(param: unknown): string | undefined {
  return typeof param === 'string' && PARAM.test(param) ? param : undefined;
}

function textOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
}
