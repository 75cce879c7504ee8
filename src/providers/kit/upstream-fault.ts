import { isJsonObject, type JsonObject } from './json-object';

/** An upstream's error report, in any of the usual shapes. Fields are raw text: log only. */
export interface UpstreamFault {
  readonly message: string;
  readonly type: string;
  readonly code: string;
  /** Only when it looks like a path into the request. */
  readonly param: string | undefined;
}

const EMPTY_FAULT: UpstreamFault = { message: '', type: '', code: '', param: undefined };
const PARAM = /^[A-Za-z_][\w.[\]-]{0,199}$/;

/** Reads the fault from an error document; fields are empty for anything else. */
export function readFault(body: Buffer): UpstreamFault {
  try {
    return toFault(JSON.parse(body.toString('utf8')));
  } catch {
    return EMPTY_FAULT;
  }
}

/**
 * The fault in a parsed document: `{ error: {…} }`, `{ error: "…" }`, `{ message, type, code }`, `{ detail }`, or an
 * array around any of them.
 */
export function toFault(document: unknown): UpstreamFault {
  if (Array.isArray(document)) return toFault(document[0]);
  if (!isJsonObject(document)) return EMPTY_FAULT;
  const { error } = document;
  if (typeof error === 'string') return { ...EMPTY_FAULT, message: error, type: text(document['error_type']) };
  const fault = isJsonObject(error) ? error : document;
  if (fault['message'] === undefined && document['detail'] !== undefined) return fromDetail(document['detail']);
  return {
    message: text(fault['message']),
    type: text(fault['type']) || text(fault['status']),
    code: text(fault['code']),
    param: toParam(fault['param']),
  };
}

/** `detail` of the Python web frameworks: a sentence, or a list of `{ loc, msg, type }` about the request's body. */
function fromDetail(detail: unknown): UpstreamFault {
  if (typeof detail === 'string') return { ...EMPTY_FAULT, message: detail };
  const first: unknown = Array.isArray(detail) ? detail[0] : detail;
  if (!isJsonObject(first)) return EMPTY_FAULT;
  return {
    message: text(first['msg']),
    type: 'request_validation',
    code: text(first['type']),
    param: locationOf(first),
  };
}

function locationOf({ loc }: JsonObject): string | undefined {
  if (!Array.isArray(loc)) return undefined;
  const path = loc[0] === 'body' ? loc.slice(1) : loc;
  const joined = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${text(step)}`)).join('');
  return toParam(joined.replace(/^\./, ''));
}

function toParam(param: unknown): string | undefined {
  return typeof param === 'string' && PARAM.test(param) ? param : undefined;
}

function text(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
}
