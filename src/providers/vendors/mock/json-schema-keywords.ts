/** A JSON Schema that is an object; untrusted, so every keyword may contain anything. */
export type Schema = Readonly<Record<string, unknown>>;

/** No value that meets the schema was found. */
export class UnsatisfiableSchema extends Error {}

export function asRecord(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

export function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

/** The strings of a list; other elements are ignored. */
export function textsOf(value: unknown): string[] {
  return listOf(value).filter((item) => typeof item === 'string');
}

/** Total number of members of a schema's keywords: the cost of checking each one. */
export function widthOf(schema: Schema): number {
  let width = 0;
  for (const value of Object.values(schema)) {
    width += Array.isArray(value) ? value.length : Object.keys(asRecord(value)).length;
  }
  return width;
}

/** Keywords of which the stricter one applies when two schemas must be met: the greater or the smaller number. */
const GREATER: ReadonlySet<string> = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']);
const SMALLER: ReadonlySet<string> = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']);

/** One schema for values that meet both. */
export function mergeSchemas(left: Schema, right: Schema): Schema {
  const merged = new Map(Object.entries(left));
  for (const [keyword, value] of Object.entries(right)) {
    const isShared = Object.hasOwn(left, keyword);
    merged.set(keyword, isShared ? mergeKeyword(keyword, left[keyword], value) : value);
    if (isShared && (keyword === 'anyOf' || keyword === 'oneOf')) {
      merged.set('allOf', [...listOf(merged.get('allOf')), { [keyword]: left[keyword] }]);
    }
  }
  return Object.fromEntries(merged);
}

function mergeKeyword(keyword: string, left: unknown, right: unknown): unknown {
  if (GREATER.has(keyword)) {
    return Math.max(numberOr(left, -Infinity), numberOr(right, -Infinity));
  }
  if (SMALLER.has(keyword)) {
    return Math.min(numberOr(left, Infinity), numberOr(right, Infinity));
  }
  switch (keyword) {
    case 'type':
      return [left].flat().flatMap((type) => commonTypes(type, [right].flat()));
    case 'properties':
      return mergeProperties(asRecord(left), asRecord(right));
    case 'required':
      return [...new Set([...listOf(left), ...listOf(right)])];
    case 'allOf':
      return [...listOf(left), ...listOf(right)];
    case 'enum':
      return intersection(listOf(left), listOf(right));
    case 'const':
      if (JSON.stringify(left) !== JSON.stringify(right)) {
        throw new UnsatisfiableSchema('two constants at once');
      }
      return left;
    case 'additionalProperties':
      return left === false || right === false ? false : { allOf: [left, right] };
    case 'items':
      return Array.isArray(left) || Array.isArray(right) ? right : { allOf: [left, right] };
    case 'uniqueItems':
      return left === true || right === true;
    default:
      return right;
  }
}

function mergeProperties(left: Schema, right: Schema): Schema {
  const shared = Object.keys(right).filter((name) => Object.hasOwn(left, name));
  return Object.fromEntries([
    ...Object.entries(left),
    ...Object.entries(right),
    ...shared.map((name): [string, unknown] => [name, { allOf: [left[name], right[name]] }]),
  ]);
}

function commonTypes(type: unknown, others: readonly unknown[]): unknown[] {
  if (others.includes(type) || (type === 'integer' && others.includes('number'))) {
    return [type];
  }
  return type === 'number' && others.includes('integer') ? ['integer'] : [];
}

function intersection(left: readonly unknown[], right: readonly unknown[]): unknown[] {
  const allowed = new Set(right.map((value) => JSON.stringify(value)));
  return left.filter((value) => allowed.has(JSON.stringify(value)));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Keywords that imply the type of a schema without one. */
const TYPE_SIGNS: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'minProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** The types to try, in order. `null` comes last, or first where a small value is wanted. */
export function typesOf(schema: Schema, isGenerous: boolean): readonly string[] {
  if (typeof schema.type === 'string') {
    return [schema.type];
  }
  if (Array.isArray(schema.type)) {
    return orderedBy(textsOf(schema.type), isGenerous ? (type) => Number(type === 'null') : typeSize);
  }
  const sign = TYPE_SIGNS.find(([, keywords]) => keywords.some((keyword) => Object.hasOwn(schema, keyword)));
  return [sign?.[0] ?? 'string'];
}

/** The alternatives in the order in which to try them: as written but `null` last, or the smallest first. */
export function orderedChoices(choices: readonly unknown[], isGenerous: boolean): readonly unknown[] {
  return orderedBy(choices, (choice) => {
    const schema = asRecord(choice);
    if (isGenerous) {
      return Number(schema.type === 'null');
    }
    return typeof schema.$ref === 'string' ? typeSize('object') : typeSize(typesOf(schema, false)[0] ?? 'object');
  });
}

function typeSize(type: string): number {
  return type === 'null' ? 0 : type === 'array' ? 2 : type === 'object' ? 3 : 1;
}

function orderedBy<Item>(items: readonly Item[], rank: (item: Item) => number): readonly Item[] {
  return items.toSorted((left, right) => rank(left) - rank(right));
}

/** Whether a value has the type, or one of the types, of a `type` keyword. */
export function hasType(value: unknown, type: unknown): boolean {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return [type].flat().some((name) => name === actual || (name === 'integer' && Number.isInteger(value)));
}
