import { valueAtPointer } from '../../kit/json';
import { asRecord, type PromptValues } from './conversation';
import { refused } from './scripted-call';

/** Untrusted, so every keyword may contain anything. */
type Schema = Readonly<Record<string, unknown>>;

/** Where a value goes: the nearest property name, the nesting, and the index within an array. */
interface Place {
  readonly name: string;
  readonly depth: number;
  readonly index: number;
}

/** Counted in schemas visited, their members, and pieces of text written: the schema comes from a client. */
const MAX_WORK = 20_000;
const PIECE_LENGTH = 20;
const MAX_DEPTH = 64;
/** From this depth on optional values are omitted, and alternatives that end the nesting are preferred. */
const DEEP = 6;
const USUAL_ARRAY_LENGTH = 2;

/** Keywords that may differ between two schemas: their values are combined, or do not constrain the instance. */
const MERGED: ReadonlySet<string> = new Set(
  'properties required title description default examples $defs definitions $schema $id'.split(' '),
);
/** A sample of each format; `#` becomes a digit from 1 to 9. */
const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['date-time', '2030-01-0#T09:30:00Z'],
  ['date', '2030-01-0#'],
  ['time', '09:0#:00Z'],
  ['duration', 'PT#H'],
  ['email', 'person#@example.com'],
  ['hostname', 'host#.example.com'],
  ['ipv4', '192.0.2.#'],
  ['ipv6', '2001:db8::#'],
  ['uri', 'https://example.com/#'],
  ['uuid', '00000000-0000-4000-8000-00000000000#'],
]);

/** Thrown for each alternative that fails. One shared object, because a stack trace costs more than an attempt. */
const UNSATISFIABLE = new Error('No value is valid.');
/** Thrown to give up without trying further alternatives. */
const TOO_MUCH_WORK = new Error('The schema is too large.');

/**
 * JSON text of a value that is valid for a schema (README, *JSON Schema*).
 * @param hints values that are used where the schema allows them
 * @param param place of the schema in the request, for the error
 * @throws ProviderError `validation_failed` when it finds no value
 */
export function writeInstance(schema: unknown, hints: PromptValues, param: string): string {
  try {
    return JSON.stringify(new InstanceBuilder(schema, hints).build(schema, { name: 'value', depth: 0, index: 0 }));
  } catch (error) {
    if (error !== UNSATISFIABLE && error !== TOO_MUCH_WORK) throw error;
    throw refused('The mock finds no value that is valid for this JSON Schema.', param);
  }
}

class InstanceBuilder {
  private work = 0;

  constructor(
    private readonly root: unknown,
    private readonly hints: PromptValues,
  ) {}

  build(schema: unknown, place: Place): unknown {
    const flat = this.flatten(schema, place.depth);
    const { type } = flat;
    const keyword = Array.isArray(flat.anyOf) ? 'anyOf' : 'oneOf';
    const { [keyword]: alternatives, ...rest } = flat;
    if (Array.isArray(alternatives)) {
      return this.firstOf(alternatives, place, (each) => ({ allOf: [rest, each] }));
    }
    const allowed = Object.hasOwn(flat, 'const') ? [flat.const] : flat.enum;
    if (Array.isArray(allowed)) return this.pick(allowed, type, place);
    if (Array.isArray(type)) return this.firstOf(type, place, (each) => ({ ...flat, type: each }));
    switch (type ?? (widthOf(flat) > 0 ? 'object' : 'string')) {
      case 'object':
        return this.buildObject(flat, place);
      case 'array':
        return this.buildArray(flat, place);
      case 'string':
        return this.buildText(flat, place);
      case 'integer':
      case 'number':
        return numberWithin(flat, type === 'integer', this.hints.number(place.index), place.index);
      case 'boolean':
        return place.index % 2 === 0;
      case 'null':
        return null;
      default:
        throw UNSATISFIABLE;
    }
  }

  /** Required properties, and optional ones that can be met, in the order of the schema as models answer. */
  private buildObject(schema: Schema, { depth, index }: Place): unknown {
    const properties = asRecord(schema.properties);
    const required = new Set(listOf(schema.required).filter((name) => typeof name === 'string'));
    const entries: [string, unknown][] = [];
    for (const name of new Set([...Object.keys(properties), ...required])) {
      const part = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
      const add = () => entries.push([this.paid(name), this.build(part, { name, depth: depth + 1, index })]);
      if (required.has(name)) add();
      else if (depth < DEEP) this.attempt(add);
    }
    return Object.fromEntries(entries);
  }

  private buildArray(schema: Schema, { name, depth }: Place): unknown {
    const least = numberOr(schema.minItems, 0);
    const most = numberOr(schema.maxItems, Infinity);
    const length = Math.max(least, Math.min(depth < DEEP ? USUAL_ARRAY_LENGTH : 0, most));
    const items: unknown[] = [];
    const add = () => items.push(this.build(schema.items, { name, depth: depth + 1, index: items.length }));
    while (items.length < length && this.attempt(add));
    if (items.length < least || least > most) throw UNSATISFIABLE;
    return items;
  }

  /** Truncated or padded to the bounds, which count code points. */
  private buildText({ format, minLength, maxLength }: Schema, { name, index }: Place): string {
    const least = numberOr(minLength, 0);
    const most = numberOr(maxLength, Infinity);
    this.spend(least / PIECE_LENGTH);
    const sample = FORMATS.get(format)?.replace('#', String(1 + (index % 9)));
    const characters = Array.from(sample ?? this.hints.text(name, index));
    const isOutside = characters.length < least || characters.length > most;
    if (least > most || (isOutside && sample !== undefined)) throw UNSATISFIABLE;
    while (characters.length < least) characters.push('.');
    return this.paid(characters.slice(0, most).join(''));
  }

  private pick(values: readonly unknown[], type: unknown, { index }: Place): unknown {
    const allowed = values.filter((value) => type === undefined || [type].flat().some((each) => hasType(value, each)));
    if (allowed.length === 0) throw UNSATISFIABLE;
    const mentioned = allowed.findIndex((value) => this.hints.isMentioned(value));
    const value = allowed[(Math.max(mentioned, 0) + index) % allowed.length];
    this.paid(JSON.stringify(value));
    return value;
  }

  /** Replaces `$ref` and `allOf` by the schemas that they refer to. */
  private flatten(schema: unknown, depth: number): Schema {
    if (schema === false || depth > MAX_DEPTH) throw UNSATISFIABLE;
    const { $ref: reference, allOf, ...own } = asRecord(schema);
    const parts = typeof reference === 'string' ? [this.resolve(reference)] : [];
    let flat: Schema = own;
    for (const part of [...parts, ...listOf(allOf)]) {
      flat = merge(flat, this.flatten(part, depth + 1));
      this.spend(widthOf(flat) / PIECE_LENGTH);
    }
    this.spend(1 + widthOf(flat) / PIECE_LENGTH);
    return flat;
  }

  private resolve(reference: string): unknown {
    const [head, ...steps] = reference.split('/');
    const target = head === '#' ? valueAtPointer(this.root, steps) : undefined;
    if (target === undefined) throw UNSATISFIABLE;
    return target;
  }

  /**
   * The first alternative that can be satisfied. They are tried in the order of the schema, except that `null` comes
   * last, or deep inside those alternatives come last that would nest further.
   */
  private firstOf(alternatives: readonly unknown[], place: Place, toSchema: (each: unknown) => Schema): unknown {
    const rank = (each: unknown) => {
      const { $ref: reference, type = each } = asRecord(each);
      const isNested = reference !== undefined || type === 'object' || type === 'array';
      return Number(place.depth < DEEP ? type === 'null' : isNested);
    };
    const ordered = alternatives.toSorted((left, right) => rank(left) - rank(right));
    let value: unknown;
    const build = (each: unknown) => (value = this.build(toSchema(each), { ...place, depth: place.depth + 1 }));
    if (!ordered.some((each) => this.attempt(() => build(each)))) throw UNSATISFIABLE;
    return value;
  }

  private attempt(build: () => unknown): boolean {
    try {
      build();
      return true;
    } catch (error) {
      if (error === UNSATISFIABLE) return false;
      throw error;
    }
  }

  /** Long texts count by the piece, so that a short schema cannot request a huge value. */
  private paid(text: string): string {
    this.spend(text.length / PIECE_LENGTH);
    return text;
  }

  private spend(work: number): void {
    this.work += work;
    if (this.work > MAX_WORK) throw TOO_MUCH_WORK;
  }
}

/** One schema for values that meet both. @throws UNSATISFIABLE for two values of one keyword */
function merge(left: Schema, right: Schema): Schema {
  const [ours, theirs] = [asRecord(left.properties), asRecord(right.properties)];
  const shared = Object.keys(theirs).filter((name) => Object.hasOwn(ours, name));
  const both = shared.map((name): [string, unknown] => [name, { allOf: [ours[name], theirs[name]] }]);
  const properties = { ...ours, ...theirs, ...Object.fromEntries(both) };
  const names = Object.keys(properties);
  const excludes = ({ additionalProperties: others = true }: Schema, own: Schema) =>
    others !== true && names.some((name) => !Object.hasOwn(own, name));
  const differs = (key: string) => Object.hasOwn(left, key) && left[key] !== right[key] && !MERGED.has(key);
  if (excludes(left, ours) || excludes(right, theirs) || Object.keys(right).some(differs)) {
    throw UNSATISFIABLE;
  }
  const required = [...listOf(left.required), ...listOf(right.required)];
  return { ...left, ...right, properties, required };
}

/** A number within the bounds: `hint` where it fits, otherwise one near the lower bound. */
function numberWithin(schema: Schema, isInteger: boolean, hint: number | undefined, index: number): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const low = Math.max(numberOr(minimum, -Infinity), numberOr(exclusiveMinimum, -Infinity));
  const high = Math.min(numberOr(maximum, Infinity), numberOr(exclusiveMaximum, Infinity));
  const step = numberOr(multipleOf, 1);
  const first = Number.isFinite(low) ? Math.ceil(low / step) : Math.min(1, Math.floor(high / step));
  const multiples = [first + index, first, first + 1, first - 1].map((factor) => factor * step);
  const fits = (value = NaN) =>
    (isInteger ? Number.isInteger(value) : Number.isFinite(value)) &&
    (multipleOf === undefined || Number.isInteger(value / step)) &&
    value >= low &&
    value <= high &&
    value !== exclusiveMinimum &&
    value !== exclusiveMaximum;
  const value = [hint, ...multiples, low + (high - low) / (index + 2)].find(fits);
  if (value === undefined) throw UNSATISFIABLE;
  return value;
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The cost of reading a schema. */
function widthOf({ properties, required, enum: values }: Schema): number {
  return Object.keys(asRecord(properties)).length + listOf(required).length + listOf(values).length;
}

function hasType(value: unknown, type: unknown): boolean {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return type === actual || (type === 'integer' && Number.isInteger(value));
}
