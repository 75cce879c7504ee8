import { GatewayError } from '../errors/gateway-error';
import { parseStrictJson } from '../json/strict-json';
import { joinPath } from './validation-issues';

/**
 * What the text of a field stands for. A `list` has one item per part of that name; anything else is sent once. An object
 * is sent as JSON, or as official clients write it: each of its fields as a part, `routing[max_price][prompt]`.
 */
export type FieldKind = 'text' | 'number' | 'boolean' | 'list' | { readonly [field: string]: FieldKind };

type Fields = ReadonlyMap<string, readonly string[]>;

/** `[field]` and what follows it in the name of a part. */
const MEMBER = /^\[([^[\]]+)\]((?:\[[^[\]]+\])*)$/;

/**
 * The value of a field, `undefined` where the form does not have it. What is no number or boolean stays a text, which the
 * rules of the DTO refuse in their own words.
 * @param path of the field for errors, as in JSON.
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
      return text === 'true' ? true : text === 'false' ? false : text;
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
    if (value === undefined) throw refused(`${memberPath} is no field, or is not written as one.`, memberPath);
    object[member] = value;
  }
  return object;
}

/** The fields of an object that the form has parts of. */
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

function readJson(path: string, text: string): unknown {
  try {
    return parseStrictJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = `${path} must be JSON without repeated names and with values that can be carried on unchanged.`;
    throw refused(message, joinPath(path, error.param ?? ''));
  }
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
