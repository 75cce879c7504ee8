import { isObject, nodeAt, type JsonObject } from '../harness/openapi-document';

/*
 * Derives request bodies from a schema: one good sample, and around it every value at and just beyond each limit, of
 * each wrong type, absent and null, at every depth. It does not decide which of them are valid: two
 * validators do, and must agree.
 */

/** Values of every type, for places where one type is expected. */
const ONE_OF_EACH = [
  null,
  true,
  'text',
  '',
  -1,
  1,
  1.5,
  [],
  [null],
  [[]],
  ['text'],
  {},
  { type: 'text' },
  { role: 'user' },
];

/** Texts that satisfy the patterns of the documents; the first one that fits is the sample. */
const TEXTS = [
  'text',
  'mock/chat-1',
  'https://files.example/a.png',
  'data:image/png;base64,AA==',
  'a'.repeat(32),
  'ada@example.com',
];

type Place = (value: unknown) => unknown;

export class SchemaCases {
  constructor(private readonly document: JsonObject) {}

  /** Every derived body for a schema by its name. */
  *of(name: string): Generator<unknown> {
    yield* this.around(this.named(name), (value) => value);
  }

  sample(name: string): unknown {
    return this.sampleOf(this.named(name));
  }

  private *around(reference: unknown, place: Place): Generator<unknown> {
    const schema = this.resolve(reference);
    for (const value of ONE_OF_EACH) yield place(value);
    for (const branch of this.branches(schema)) yield* this.around(branch, place);
    for (const value of [...limits(schema), ...texts(schema), ...members(schema)]) yield place(value);
    yield* this.aroundItems(schema, place);
    yield* this.aroundProperties(schema, place);
  }

  private *aroundItems(schema: JsonObject, place: Place): Generator<unknown> {
    if (schema.items === undefined) return;
    const sample = this.sampleOf(schema.items);
    const lengths = [schema.minItems, schema.maxItems].filter((length) => typeof length === 'number');
    for (const length of lengths.flatMap((edge) => [edge - 1, edge, edge + 1])) {
      if (length >= 0) yield place(Array.from({ length }, () => sample));
    }
    yield* this.around(schema.items, (item) => place([item]));
    for (const item of ONE_OF_EACH) yield place([sample, item]);
  }

  private *aroundProperties(schema: JsonObject, place: Place): Generator<unknown> {
    if (isObject(schema.additionalProperties)) {
      yield* this.around(schema.additionalProperties, (value) => place({ key: value }));
    }
    if (!isObject(schema.properties)) return;
    const sample = this.sampleOf(schema) as JsonObject;
    yield place({ ...sample, not_in_the_document: 1 });
    for (const [name, property] of Object.entries(schema.properties)) {
      const { [name]: _left, ...rest } = sample;
      yield place(rest);
      yield* this.around(property, (value) => place({ ...sample, [name]: value }));
    }
  }

  private sampleOf(reference: unknown): unknown {
    const schema = this.resolve(reference);
    const [branch] = this.branches(schema).filter((each) => this.resolve(each).type !== 'null');
    if (branch !== undefined) return this.sampleOf(branch);
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0] as unknown;
    const [type] = [schema.type].flat();
    if (type === 'object') return this.sampleObject(schema);
    if (type === 'array')
      return Array.from({ length: Number(schema.minItems ?? 1) || 1 }, () => this.sampleOf(schema.items));
    if (type === 'string') return TEXTS.find((text) => fits(text, schema));
    if (type === 'boolean') return true;
    return Number(schema.minimum ?? 1);
  }

  private sampleObject(schema: JsonObject): JsonObject {
    const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
    const properties = isObject(schema.properties) ? schema.properties : {};
    return Object.fromEntries(required.map((name) => [name, this.sampleOf(properties[name])]));
  }

  private branches(schema: JsonObject): readonly unknown[] {
    return [schema.oneOf, schema.anyOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  }

  private resolve(reference: unknown): JsonObject {
    if (!isObject(reference)) throw new Error('a schema is not an object');
    if (typeof reference.$ref !== 'string') return reference;
    const { $ref, ...beside } = reference;
    return { ...nodeAt(this.document, $ref.slice(1))?.value, ...beside };
  }

  private named(name: string): JsonObject {
    return { $ref: `#/components/schemas/${name}` };
  }
}

function fits(text: string, { pattern = '', minLength = 0 }: JsonObject): boolean {
  return text.length >= Number(minLength) && new RegExp(String(pattern)).test(text);
}

function limits(schema: JsonObject): unknown[] {
  const edges = [schema.minimum, schema.maximum].filter((edge) => typeof edge === 'number');
  return edges.flatMap((edge) => [edge - 1, edge - 0.5, edge, edge + 0.5, edge + 1, String(edge)]);
}

function texts(schema: JsonObject): unknown[] {
  if (![schema.type].flat().includes('string')) return [];
  const lengths = [schema.minLength, schema.maxLength].filter((length) => typeof length === 'number');
  const edges = lengths.flatMap((edge) => [edge - 1, edge, edge + 1]).filter((length) => length >= 0);
  return [
    ...TEXTS,
    ' ',
    'a/',
    '/b',
    'a b/c',
    'ftp://files.example/a',
    'http://files.example/a',
    'mock/😀',
    'a'.repeat(64),
    'a'.repeat(65),
  ].concat(
    edges.flatMap((length) => ['a'.repeat(length), `a/${'b'.repeat(Math.max(0, length - 2))}`, '😀'.repeat(length)]),
  );
}

function members(schema: JsonObject): unknown[] {
  if (Array.isArray(schema.enum))
    return [...(schema.enum as unknown[]), 'no-such-member', String(schema.enum[0]).toUpperCase()];
  return 'const' in schema ? [schema.const, `${String(schema.const)}?`] : [];
}
