import {
  asRecord,
  hasType,
  mergeSchemas,
  numberOr,
  orderedChoices,
  textsOf,
  typesOf,
  UnsatisfiableSchema,
  widthOf,
  type Schema,
} from './json-schema-keywords';
import { numberWithin, stringWithin } from './json-schema-scalars';

/**
 * Makes a value that is valid for a JSON Schema: types, `enum`, `const`, local `$ref`, `allOf`, `anyOf`, `oneOf`,
 * objects, arrays, bounds and the common formats. Not read: `pattern`, `not`, `if`, `contains`, `patternProperties` and
 * `propertyNames`; and of `oneOf` one alternative is met without checking the others. The work is bounded, because the
 * schema comes from the client: recursion stops early and the size is limited.
 */
export interface ValueHints {
  /** Any string; it is truncated or padded to the schema's bounds. `variant` counts the elements of an array. */
  text(propertyName: string, variant: number): string;
  /** A number to use where the schema allows it. */
  number(propertyName: string, variant: number): number | undefined;
  /** Index of the allowed value to use; -1 for no preference. */
  choose(values: readonly unknown[]): number;
}

/** Where a value goes: the nearest property name, the nesting, and the index among the elements of an array. */
interface Place {
  readonly name: string;
  readonly depth: number;
  readonly variant: number;
}

/** Counted in schemas visited, members checked, and pieces of text written. */
const MAX_WORK = 20_000;
const PIECE_LENGTH = 20;
const MAX_DEPTH = 64;
/** Below this depth optional values are omitted, and the simplest alternative is preferred. */
const GENEROUS_DEPTH = 6;
const USUAL_ARRAY_LENGTH = 2;

/** @throws UnsatisfiableSchema when no value is found. */
export function instanceOf(schema: unknown, hints: ValueHints): unknown {
  return new InstanceBuilder(schema, hints).build(schema, { name: 'value', depth: 0, variant: 0 });
}

/** The schema exceeds the mock's work limit; no further alternative is tried. */
class TooMuchWork extends UnsatisfiableSchema {}

class InstanceBuilder {
  private work = 0;

  constructor(
    private readonly root: unknown,
    private readonly hints: ValueHints,
  ) {}

  build(schema: unknown, place: Place): unknown {
    if (place.depth > MAX_DEPTH) {
      throw new UnsatisfiableSchema('nested too deeply');
    }
    const flat = this.flatten(schema);
    const choices = flat.anyOf ?? flat.oneOf;
    if (Array.isArray(choices)) {
      const { [flat.anyOf ? 'anyOf' : 'oneOf']: _, ...rest } = flat;
      return this.firstOf(orderedChoices(choices, this.isGenerous(place)), (choice) =>
        this.build(mergeSchemas(rest, this.flatten(choice)), { ...place, depth: place.depth + 1 }),
      );
    }
    if (Object.hasOwn(flat, 'const') || Array.isArray(flat.enum)) {
      return this.pick(flat, place);
    }
    return this.firstOf(typesOf(flat, this.isGenerous(place)), (type) => this.buildType(type, flat, place));
  }

  private buildType(type: string, schema: Schema, place: Place): unknown {
    switch (type) {
      case 'object':
        return this.buildObject(schema, place);
      case 'array':
        return this.buildArray(schema, place);
      case 'string':
        return this.paid(stringWithin(schema, this.hints.text(place.name, place.variant), place.variant));
      case 'integer':
      case 'number':
        return numberWithin(schema, type, this.hints.number(place.name, place.variant), place.variant);
      case 'boolean':
        return place.variant % 2 === 0;
      case 'null':
        return null;
      default:
        throw new UnsatisfiableSchema(`unknown type ${type.slice(0, 40)}`);
    }
  }

  private buildObject(schema: Schema, place: Place): Record<string, unknown> {
    const properties = asRecord(schema.properties);
    const required = new Set(textsOf(schema.required));
    const additional = schema.additionalProperties ?? true;
    const least = numberOr(schema.minProperties, 0);
    const most = numberOr(schema.maxProperties, Infinity);
    const entries = new Map<string, unknown>();
    const at = (name: string): Place => ({
      name: this.paid(name),
      depth: place.depth + 1,
      variant: place.variant,
    });
    for (const name of required) {
      entries.set(name, this.build(Object.hasOwn(properties, name) ? properties[name] : additional, at(name)));
    }
    for (const name of Object.keys(properties)) {
      const wanted = this.isGenerous(place) || entries.size < least;
      if (!required.has(name) && wanted && entries.size < most) {
        this.attempt(() => entries.set(name, this.build(properties[name], at(name))));
      }
    }
    for (let extra = 1; entries.size < least; extra++) {
      const name = `extra_${extra}`;
      entries.set(name, this.build(additional, at(name)));
    }
    if (entries.size > most) {
      throw new UnsatisfiableSchema('more required properties than allowed');
    }
    return Object.fromEntries(this.inSchemaOrder(properties, entries));
  }

  /** Models answer in the order of the schema, so required properties return to their places. */
  private inSchemaOrder(properties: Schema, entries: ReadonlyMap<string, unknown>): [string, unknown][] {
    const names = new Set([...Object.keys(properties), ...entries.keys()]);
    return [...names].filter((name) => entries.has(name)).map((name) => [name, entries.get(name)]);
  }

  private buildArray(schema: Schema, place: Place): unknown[] {
    const tuple: readonly unknown[] = [schema.prefixItems, schema.items].find(Array.isArray) ?? [];
    const following = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
    const least = numberOr(schema.minItems, 0);
    const most = numberOr(schema.maxItems, Infinity);
    const usual = this.isGenerous(place) ? Math.max(tuple.length, USUAL_ARRAY_LENGTH) : 0;
    const length = Math.max(least, Math.min(usual, most));
    const seen = new Set<string>();
    const items: unknown[] = [];
    for (let variant = 0; items.length < length; variant++) {
      const item = items.length < tuple.length ? tuple[items.length] : following;
      const built = this.attempt(() => {
        const value = this.build(item ?? true, { name: place.name, depth: place.depth + 1, variant });
        const identity = schema.uniqueItems === true ? JSON.stringify(value) : String(variant);
        if (!seen.has(identity)) {
          seen.add(identity);
          items.push(value);
        }
      });
      if (!built || variant > length * 2 + 8) {
        break;
      }
    }
    if (items.length < least || items.length > most) {
      throw new UnsatisfiableSchema('not enough different elements');
    }
    return items;
  }

  private pick(schema: Schema, place: Place): unknown {
    const values: readonly unknown[] = Object.hasOwn(schema, 'const') ? [schema.const] : (schema.enum as unknown[]);
    const allowed = schema.type === undefined ? values : values.filter((value) => hasType(value, schema.type));
    if (allowed.length === 0) {
      throw new UnsatisfiableSchema('no value is allowed');
    }
    const value = allowed[(Math.max(this.hints.choose(allowed), 0) + place.variant) % allowed.length];
    this.paid(JSON.stringify(value));
    return value;
  }

  /** Replaces `$ref` and `allOf` by the schemas that they refer to. */
  private flatten(schema: unknown, depth = 0): Schema {
    this.spend(1);
    if (schema === false || depth > MAX_DEPTH) {
      throw new UnsatisfiableSchema('nothing is allowed');
    }
    let flat = asRecord(schema);
    if (typeof flat.$ref === 'string') {
      const { $ref: reference, ...siblings } = flat;
      flat = mergeSchemas(siblings, this.flatten(this.resolve(String(reference)), depth + 1));
    }
    if (Array.isArray(flat.allOf)) {
      const { allOf: parts, ...rest } = flat;
      flat = rest;
      for (const part of parts as unknown[]) {
        flat = mergeSchemas(flat, this.flatten(part, depth + 1));
        this.spend(widthOf(flat));
      }
    }
    this.spend(widthOf(flat));
    return flat;
  }

  private resolve(reference: string): unknown {
    const pointer = /^#(?:\/|$)/.test(reference) ? decodePointer(reference) : undefined;
    let target = this.root;
    for (const key of pointer ?? ['']) {
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) {
        throw new UnsatisfiableSchema('a reference leads nowhere');
      }
      target = (target as Schema)[key];
    }
    return target;
  }

  private firstOf<Option>(options: readonly Option[], build: (option: Option) => unknown): unknown {
    let value: unknown;
    if (!options.some((option) => this.attempt(() => (value = build(option))))) {
      throw new UnsatisfiableSchema('no alternative can be met');
    }
    return value;
  }

  private attempt(build: () => unknown): boolean {
    try {
      build();
      return true;
    } catch (error) {
      if (error instanceof UnsatisfiableSchema && !(error instanceof TooMuchWork)) {
        return false;
      }
      throw error;
    }
  }

  private isGenerous(place: Place): boolean {
    return place.depth < GENEROUS_DEPTH;
  }

  /** Long texts count by the piece, so that a short schema cannot request a huge value. */
  private paid(text: string): string {
    this.spend(Math.floor(text.length / PIECE_LENGTH));
    return text;
  }

  private spend(work: number): void {
    this.work += work;
    if (this.work > MAX_WORK) {
      throw new TooMuchWork('too large');
    }
  }
}

/** The steps of a reference such as `#/$defs/node`. */
function decodePointer(reference: string): string[] {
  const steps = reference.split('/').slice(1);
  return steps.map((step) => unescapePercent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
