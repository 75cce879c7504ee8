import { GatewayError } from '../errors/gateway-error';
import { parseStrictJson } from '../json/strict-json';
import { joinPath } from './validation-issues';

/**
 * The type of a field. A `list` has one item per part of that name; other fields are sent once. An object is sent as
 * JSON, or like official clients with one part per field, `routing[max_price][prompt]`.
 */
export type FieldKind = 'text' | 'number' | 'boolean' | 'list' | { readonly [field: string]: FieldKind };

type Fields = ReadonlyMap<string, readonly string[]>;

/** `[field]` and the rest of the name of a part. */
const MEMBER = /^\[([^[\]]+)\]((?:\[[^[\]]+\])*)$/;

/**
 * The value of a field, `undefined` when the form does not have it. Invalid numbers and booleans stay text, which the
 * rules of the DTO refuse.
 * @param path JSON path of the field, for errors.
 * @throws GatewayError `validation_failed` with `param`.
 */
export function readField(fields: Fields, name: string, kind: FieldKind, path = name): unknown {
  if (typeof kind === 'object') return readObject(fields, name, kind, path);
  const values = fields.get(name);
  if (values === undefined || kind === 'list') return values;
  const text = only(values, path);
  switch (kind) {
    case 'number':
      return readNumber(text);
    case 'boolean':
      return readBoolean(text);
    case 'text':
      return text;
  }
}

function readObject(fields: Fields, name: string, kinds: Readonly<Record<string, FieldKind>>, path: string): unknown {
  const members = membersOf(fields, name, path);
  const whole = fields.get(name);
  if (whole !== undefined) return readJson(path, only([...whole, ...members], path));
  if (members.size === 0) return undefined;
  const object: Record<string, unknown> = {};
  for (const member of members) {
    const memberPath = joinPath(path, member);
    const kind = Object.hasOwn(kinds, member) ? kinds[member] : undefined;
    const value = kind === undefined ? undefined : readField(fields, `${name}[${member}]`, kind, memberPath);
    if (value === undefined) throw refused(`${memberPath} is not a known field.`, memberPath);
    object[member] = value;
  }
  return object;
}

/** The fields of an object that appear in the form. */
function membersOf(fields: Fields, name: string, path: string): ReadonlySet<string> {
  const members = new Set<string>();
  for (const field of fields.keys()) {
    if (!field.startsWith(`${name}[`)) continue;
    const [, member] = MEMBER.exec(field.slice(name.length)) ?? [];
    if (member === undefined) throw refused(`${path} has a field whose name is not well-formed.`, path);
    members.add(member);
  }
  return members;
}

function only(values: readonly string[], path: string): string {
  if (values.length > 1) throw refused(`${path} must be sent once.`, path);
  return values[0] ?? '';
}

function readNumber(text: string): number | string {
  return /^-?\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : text;
}

/** Ignores case: some clients send booleans in the notation of their language, such as Python's `True`. */
function readBoolean(text: string): boolean | string {
  const lower = text.toLowerCase();
  return lower === 'true' ? true : lower === 'false' ? false : text;
}

function readJson(path: string, text: string): unknown {
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = `${path} must be JSON without repeated names and with values that can be passed on unchanged.`;
    throw refused(message, joinPath(path, error.param ?? ''));
  }
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
