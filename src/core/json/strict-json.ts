import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors/gateway-error';
import { findDuplicateKey } from './find-duplicate-key';
import { findInexactNumber } from './find-inexact-number';

/**
 * The only parser of untrusted JSON. `JSON.parse` alone accepts unsafe input: invalid UTF-8 (replaced), repeated names
 * (the last one wins), integers that lose digits, `1e400` (Infinity), NUL and lone surrogates (PostgreSQL refuses
 * them), and bodies whose shape alone blocks the event loop. One pass over the bytes runs the cheap checks before
 * anything is built; one walk over the result runs the others.
 */
export const MAX_JSON_DEPTH = 128;
/** 600,000 names in one body block the event loop for most of a second. */
export const MAX_JSON_NAMES = 100_000;
export const MAX_JSON_VALUES = 1_000_000;
/** Numbers are cheap; strings and containers are heap objects. */
export const MAX_JSON_STRINGS = 100_000;
export const MAX_JSON_CONTAINERS = 100_000;

/** Heap size of parsed JSON besides its text, rounded up from measurements with V8 of Node 24. */
const BYTES_PER_NAME = 100;
const BYTES_PER_CONTAINER = 48;
const BYTES_PER_STRING = 32;
const BYTES_PER_VALUE = 16;

/** Names come from the client; an error must not become as large as its request. */
const MAX_PARAM_LENGTH = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

interface Scan {
  readonly names: number;
  /** An upper estimate of the heap size of the parsed value; a body of empty objects grows fourteenfold. */
  readonly heapBytes: number;
  /** A `\u` escape appears: only then can a string contain a NUL or a lone surrogate. */
  readonly unicodeEscapes: boolean;
}

/**
 * Parses a UTF-8 JSON text.
 * @param admit called before the parse with the maximum heap size of the value in bytes; may throw.
 * @param onUnfaithful receives the `validation_failed` for a value that cannot be passed on unchanged, instead of
 * throwing it.
 * @throws GatewayError `invalid_json` when the text is not JSON; `validation_failed` (with `param` where there is one)
 * when it is too deep or too wide, repeats a name, or contains a value that cannot be passed on unchanged.
 */
export function parseStrictJson(
  bytes: Buffer,
  admit?: (heapBytes: number) => void,
  onUnfaithful: (error: GatewayError) => void = rethrow,
): unknown {
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
    // The engine's message quotes the body, so it is dropped.
    throw new GatewayError('invalid_json', 'The request body is not valid JSON.');
  }
  const survey: Survey = { names: 0, unsafe: false };
  surveyValue(value, survey);
  if (survey.names !== scan.names) {
    const param = findDuplicateKey(text)?.slice(0, MAX_PARAM_LENGTH);
    throw new GatewayError('validation_failed', `The name ${param ?? ''} appears twice in one object.`, { param });
  }
  try {
    if (survey.unsafe) refuseInexactNumbers(text);
    if (scan.unicodeEscapes && !hasFaithfulTexts(value)) refuseUnfaithfulValues(value, '');
  } catch (error) {
    onUnfaithful(error as GatewayError);
  }
  return value;
}

function rethrow(error: GatewayError): never {
  throw error;
}

function scanBytes(bytes: Buffer): Scan {
  let depth = 0;
  let names = 0;
  let values = 1;
  let strings = 0;
  let containers = 0;
  let unicodeEscapes = false;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE: {
        strings++;
        for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) {
          if (bytes[at] === BACKSLASH && bytes[++at] === 0x75) unicodeEscapes = true;
        }
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        if (++containers > MAX_JSON_CONTAINERS)
          throw tooComplex(`has more than ${MAX_JSON_CONTAINERS} lists and objects`);
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
  const texts = strings - names;
  if (texts > MAX_JSON_STRINGS) throw tooComplex(`has more than ${MAX_JSON_STRINGS} strings`);
  const builtBytes =
    names * BYTES_PER_NAME +
    containers * BYTES_PER_CONTAINER +
    Math.max(0, texts) * BYTES_PER_STRING +
    values * BYTES_PER_VALUE;
  return { names, heapBytes: bytes.length + builtBytes, unicodeEscapes };
}

function tooComplex(what: string): GatewayError {
  return new GatewayError('validation_failed', `The request body ${what}.`);
}

/** The result of one walk over the parsed value. */
interface Survey {
  /** Number of object members. Fewer than in the text: a name was repeated. */
  names: number;
  /** Whether a number lies beyond what a double represents exactly. */
  unsafe: boolean;
}

function surveyValue(value: unknown, survey: Survey): void {
  if (typeof value === 'number') {
    if (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) survey.unsafe = true;
  } else if (Array.isArray(value)) {
    for (const item of value) surveyValue(item, survey);
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.values(value);
    survey.names += members.length;
    for (const member of members) surveyValue(member, survey);
  }
}

function refuseInexactNumbers(text: string): void {
  const path = findInexactNumber(text);
  if (path !== undefined) throw unfaithful(path, 'is a number that cannot be passed on without losing digits');
}

/** The fast check that nearly all values pass; otherwise {@link refuseUnfaithfulValues} finds the path. */
function hasFaithfulTexts(value: unknown): boolean {
  if (typeof value === 'string') return isFaithful(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(hasFaithfulTexts);
  return Object.entries(value).every(([name, member]) => isFaithful(name) && hasFaithfulTexts(member));
}

function isFaithful(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

function refuseUnfaithfulValues(value: unknown, path: string): void {
  if (typeof value === 'string') return refuseUnfaithfulText(value, path);
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
  if (!text.isWellFormed()) throw unfaithful(path, 'contains a lone surrogate');
}

function unfaithful(path: string, what: string): GatewayError {
  const param = path === '' ? undefined : path.slice(0, MAX_PARAM_LENGTH);
  return new GatewayError('validation_failed', `${param ?? 'The request body'} ${what}.`, { param });
}
