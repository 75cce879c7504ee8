import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors/gateway-error';
import { findDuplicateKey } from './find-duplicate-key';

/**
 * The only parser of JSON that strangers send. `JSON.parse` alone accepts what must not get in: invalid UTF-8
 * (replaced), repeated names (the last one wins), `1e400` (Infinity), NUL and lone surrogates (PostgreSQL refuses
 * them), and bodies whose shape alone blocks the event loop. One pass over the bytes settles the cheap questions
 * before anything is built; one walk over the result settles the rest.
 */
export const MAX_JSON_DEPTH = 128;
/** Six hundred thousand names in one body hold the event loop for most of a second. */
export const MAX_JSON_NAMES = 100_000;
export const MAX_JSON_VALUES = 1_000_000;

/** What parsed JSON takes of the heap besides its text, rounded up from measurements with V8 of Node 24. */
const BYTES_PER_NAME = 100;
const BYTES_PER_CONTAINER = 48;
const BYTES_PER_VALUE = 16;

/** Names come from the client; an error must not become as large as its request. */
const MAX_PARAM_LENGTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

interface Scan {
  readonly names: number;
  /** An upper estimate of what the parsed value takes; a body of empty objects grows to the fourteenfold. */
  readonly heapBytes: number;
  /** A `\u` escape appears: only then can a string hold a NUL or half of a surrogate pair. */
  readonly unicodeEscapes: boolean;
}

/**
 * Parses a UTF-8 JSON text.
 * @param admit told before anything is built how many bytes the value will take at most; may throw.
 * @throws GatewayError `invalid_json` when it is not one; `validation_failed` (with `param` where there is one) when it
 * is, but is too deep, too wide, repeats a name, or holds a value that cannot be carried on faithfully.
 */
export function parseStrictJson(bytes: Buffer, admit?: (heapBytes: number) => void): unknown {
  if (bytes.length === 0)
    throw new GatewayError('invalid_json', 'The request body is empty; a JSON object is expected.');
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json', 'The request body is not valid UTF-8.');
  const scan = scanBytes(bytes);
  admit?.(scan.heapBytes);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the body, so it is not passed on.
    throw new GatewayError('invalid_json', 'The request body is not valid JSON.');
  }
  const survey: Survey = { names: 0, infinite: false };
  surveyValue(value, survey);
  if (survey.names !== scan.names) {
    const param = findDuplicateKey(text)?.slice(0, MAX_PARAM_LENGTH);
    throw new GatewayError('validation_failed', `The name ${param ?? ''} appears twice in one object.`, { param });
  }
  if (scan.unicodeEscapes || survey.infinite) refuseUnfaithfulValues(value, '');
  return value;
}

function scanBytes(bytes: Buffer): Scan {
  let depth = 0;
  let names = 0;
  let values = 1;
  let containers = 0;
  let unicodeEscapes = false;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE: {
        for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) {
          if (bytes[at] === BACKSLASH && bytes[++at] === 0x75) unicodeEscapes = true;
        }
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        containers++;
        if (++depth > MAX_JSON_DEPTH) throw tooComplex(`nests deeper than ${MAX_JSON_DEPTH} levels`);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x3a: // :
        if (++names > MAX_JSON_NAMES) throw tooComplex(`has more than ${MAX_JSON_NAMES} names`);
        break;
      case 0x2c: // ,
        if (++values > MAX_JSON_VALUES) throw tooComplex(`has more than ${MAX_JSON_VALUES} values`);
        break;
    }
  }
  const builtBytes = names * BYTES_PER_NAME + containers * BYTES_PER_CONTAINER + values * BYTES_PER_VALUE;
  return { names, heapBytes: bytes.length + builtBytes, unicodeEscapes };
}

function tooComplex(what: string): GatewayError {
  return new GatewayError('validation_failed', `The request body ${what}.`);
}

/** What one walk over the parsed value finds out. */
interface Survey {
  /** Object members. Fewer than in the text means that a name was repeated. */
  names: number;
  infinite: boolean;
}

function surveyValue(value: unknown, survey: Survey): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) survey.infinite = true;
  } else if (Array.isArray(value)) {
    for (const item of value) surveyValue(item, survey);
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.values(value);
    survey.names += members.length;
    for (const member of members) surveyValue(member, survey);
  }
}

function refuseUnfaithfulValues(value: unknown, path: string): void {
  if (typeof value === 'string') return refuseUnfaithfulText(value, path);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw unfaithful(path, 'is a number too large to represent');
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    value.forEach((item, index) => refuseUnfaithfulValues(item, `${path}[${index}]`));
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    refuseUnfaithfulText(name, path);
    refuseUnfaithfulValues(member, path === '' ? name : `${path}.${name}`);
  }
}

function refuseUnfaithfulText(text: string, path: string): void {
  if (text.includes('\u0000')) throw unfaithful(path, 'contains a NUL character');
  if (!text.isWellFormed()) throw unfaithful(path, 'contains half of a surrogate pair');
}

function unfaithful(path: string, what: string): GatewayError {
  const param = path === '' ? undefined : path.slice(0, MAX_PARAM_LENGTH);
  return new GatewayError('validation_failed', `${param ?? 'The request body'} ${what}.`, { param });
}
