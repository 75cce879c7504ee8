import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { instanceOf, type ValueHints } from './json-schema-instance';
import { UnsatisfiableSchema } from './json-schema-keywords';

const ajv = new Ajv2020({ strict: false, validateFormats: true });
addFormats(ajv);

const hints: ValueHints = { text: (name) => name, number: () => undefined, choose: () => -1 };

/** The errors that ajv reports for the value made for a schema; `null` when it is valid. */
function complaintsAbout(schema: object): unknown {
  const value: unknown = JSON.parse(JSON.stringify(instanceOf(schema, hints)));
  return ajv.validate(schema, value) ? null : { value, errors: ajv.errors };
}

function failureOf(schema: object): unknown {
  try {
    instanceOf(schema, hints);
    return null;
  } catch (error) {
    return error;
  }
}

const bounds = (keywords: [string, string], most: number): fc.Arbitrary<object> =>
  fc.tuple(fc.option(fc.nat(most)), fc.option(fc.nat(most))).map(([low, size]) => ({
    ...(low !== null && { [keywords[0]]: low }),
    ...(size !== null && { [keywords[1]]: (low ?? 0) + size }),
  }));

const jsonValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, '', 'kelvin', 0, -1.5, 1e21),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('a', 'b'), fc.integer(), { noNullPrototype: true }),
);

const scalarSchema: fc.Arbitrary<object> = fc.oneof(
  bounds(['minLength', 'maxLength'], 40).map((range) => ({ type: 'string', ...range })),
  fc
    .constantFrom('date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid')
    .map((format) => ({ type: 'string', format })),
  bounds(['minimum', 'maximum'], 100).map((range) => ({ type: 'integer', ...range })),
  fc
    .integer({ min: -50, max: 50 })
    .map((low) => ({ type: 'number', exclusiveMinimum: low, exclusiveMaximum: low + 1 })),
  fc.nat(100).map((high) => ({ type: 'number', maximum: -high })),
  fc.integer({ min: 1, max: 20 }).map((step) => ({ type: 'integer', multipleOf: step, exclusiveMinimum: step * 3 })),
  fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { type: ['string', 'null'] }, {}),
  fc.array(jsonValue, { minLength: 1, maxLength: 4 }).map((values) => ({ enum: values })),
  jsonValue.map((value) => ({ const: value })),
);

const { schema: anySchema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    scalarSchema,
    fc
      .record({
        names: fc.uniqueArray(fc.constantFrom('a', 'b', 'city', 'length', 'hasOwnProperty', 'x y'), { maxLength: 4 }),
        inner: fc.array(tie('schema'), { minLength: 4, maxLength: 4 }),
        requiredCount: fc.nat(4),
        isOpen: fc.boolean(),
      })
      .map(({ names, inner, requiredCount, isOpen }) => ({
        type: 'object',
        properties: Object.fromEntries(names.map((name, index) => [name, inner[index]])),
        required: names.slice(0, requiredCount),
        ...(!isOpen && { additionalProperties: false }),
      })),
    fc
      .tuple(tie('schema'), bounds(['minItems', 'maxItems'], 4))
      .map(([items, range]) => ({ type: 'array', items, ...range })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((choices) => ({ anyOf: choices })),
    fc.tuple(tie('schema'), tie('schema')).map(([left, right]) => ({
      oneOf: [left, right].map((value, index) => ({
        type: 'object',
        properties: { kind: { const: `kind${index}` }, value },
        required: ['kind', 'value'],
        additionalProperties: false,
      })),
    })),
  ),
}));

describe('instanceOf', () => {
  it('makes a valid value for every supported schema', () => {
    fc.assert(
      fc.property(anySchema, (schema) => expect(complaintsAbout(schema)).toBeNull()),
      { numRuns: 200 },
    );
  });

  it.each([
    ['local references', { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'integer', minimum: 7 } } }],
    [
      'several schemas at once',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'number', minimum: 3 } }, required: ['a'] },
          { properties: { a: { type: 'integer', maximum: 4 }, b: { enum: ['x', 'y'] } }, required: ['b'] },
        ],
      },
    ],
    [
      'keywords beside alternatives',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        anyOf: [{ properties: { b: { const: 1 } }, required: ['b'] }, { required: ['c'] }],
        oneOf: [{ properties: { d: { type: 'null' } }, required: ['d'] }],
      },
    ],
    [
      'the stricter of two bounds',
      {
        allOf: [
          { type: 'object', properties: { a: { minLength: 3, maxLength: 9 }, b: { multipleOf: 3, maximum: 90 } } },
          { properties: { a: { minLength: 5, maxLength: 8 }, b: { multipleOf: 3, minimum: 7 } }, required: ['a'] },
        ],
      },
    ],
    [
      'an enumeration that is narrowed',
      {
        enum: ['a', 'b', 3, null],
        allOf: [{ enum: [3, 'b'] }, { type: ['number', 'null'] }],
        type: ['integer', 'string'],
      },
    ],
    ['a constant said twice', { const: { a: 1 }, allOf: [{ const: { a: 1 } }] }],
    ['integers among numbers', { type: 'integer', minimum: 0.5, allOf: [{ type: 'number', maximum: 1.5 }] }],
    [
      'elements described twice',
      {
        type: 'array',
        items: { type: 'integer', minimum: 1 },
        allOf: [
          { items: { maximum: 3 }, minItems: 2, uniqueItems: true },
          { uniqueItems: false, minItems: 1 },
        ],
      },
    ],
    [
      'further properties described twice',
      {
        type: 'object',
        minProperties: 2,
        additionalProperties: { type: 'integer' },
        allOf: [{ additionalProperties: { minimum: 4 } }],
      },
    ],
    [
      'alternatives within alternatives',
      {
        anyOf: [
          {
            anyOf: [{ type: 'object', properties: { a: { const: 1 } }, required: ['a'] }],
            properties: { b: { const: 2 } },
            required: ['b'],
          },
        ],
        allOf: [{ anyOf: [{ properties: { c: { const: 3 } }, required: ['c'] }] }],
      },
    ],
    [
      'an alternative that cannot be met',
      { anyOf: [{ type: 'string', minLength: 5, maxLength: 2 }, { type: 'null' }] },
    ],
    ['different elements', { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true }],
    [
      'different short texts',
      { type: 'array', items: { type: 'string', maxLength: 2 }, minItems: 9, uniqueItems: true },
    ],
    [
      'different numbers',
      { type: 'array', items: { type: 'integer', exclusiveMinimum: 4 }, minItems: 5, uniqueItems: true },
    ],
    ['more elements than numbers', { type: 'array', items: { type: 'integer', minimum: 1, maximum: 2 }, minItems: 5 }],
    ['tuples', { type: 'array', prefixItems: [{ type: 'null' }, { type: 'boolean' }], items: false, minItems: 2 }],
    ['dictionaries', { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 2 }],
    [
      'a limit on optional properties',
      { type: 'object', properties: { a: {}, b: {}, c: {} }, required: ['b'], maxProperties: 1 },
    ],
  ])('meets %s', (_name, schema) => {
    expect(complaintsAbout(schema)).toBeNull();
  });

  it('terminates recursion, optional or required', () => {
    const tree = {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } }, twin: { $ref: '#' } },
      required: ['children'],
    };
    const list = {
      type: 'object',
      properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
      required: ['next'],
    };
    expect(complaintsAbout(tree)).toBeNull();
    expect(complaintsAbout(list)).toBeNull();
    expect(complaintsAbout({ ...list, properties: { next: { anyOf: [{ type: 'null' }, { $ref: '#' }] } } })).toBeNull();
  });

  it.each([
    ['endless recursion', { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }],
    ['a reference to itself', { $ref: '#' }],
    ['alternatives of itself', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['a reference elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['a reference to nothing', { $ref: '#/$defs/%E0%A4%A' }],
    ['an endless array', { type: 'array', minItems: 1e9, items: {} }],
    ['an endless text', { type: 'string', minLength: 1e9 }],
    ['an endless object', { type: 'object', minProperties: 1e9 }],
    ['too few different values', { type: 'array', items: { const: 1 }, minItems: 2, uniqueItems: true }],
    ['a long constant many times', { type: 'array', items: { const: 'x'.repeat(100_000) }, minItems: 1000 }],
    [
      'a wide schema many times',
      {
        type: 'array',
        items: { required: Array.from({ length: 5000 }, () => 'a') },
        minItems: 1000,
      },
    ],
    ['two constants at once', { const: 1, allOf: [{ const: 2 }] }],
    ['two types at once', { allOf: [{ type: 'string' }, { type: 'object' }] }],
    ['nothing', { type: 'object', properties: { a: false }, required: ['a'] }],
    ['an empty enumeration', { enum: [] }],
    ['an unknown type', { type: 'file' }],
  ])('gives up on %s', (_name, schema) => {
    expect(() => instanceOf(schema, hints)).toThrow(UnsatisfiableSchema);
  });

  it('accepts keywords of the wrong type', () => {
    const odd = { toString: 1, valueOf: null };
    const names =
      'type enum const $ref allOf anyOf oneOf properties required additionalProperties items prefixItems minItems ' +
      'maxItems uniqueItems minProperties maxProperties minLength maxLength format minimum maximum multipleOf';
    const schemas = names
      .split(' ')
      .flatMap((name) => [odd, [odd], null, 'text', -1, NaN].map((value) => ({ [name]: value })))
      .flatMap((part) => ['object', 'array', 'string', 'number'].map((type) => ({ type, ...part, allOf: [part] })));
    expect(schemas.map(failureOf).filter((error) => error !== null && !(error instanceof UnsatisfiableSchema))).toEqual(
      [],
    );
  });

  it('uses the hints where the schema allows it', () => {
    const known: ValueHints = { text: () => 'Paris', number: () => 12, choose: (values) => values.indexOf('kelvin') };
    const properties = {
      city: { type: 'string' },
      days: { type: 'integer', maximum: 10 },
      hours: { type: 'integer', maximum: 24 },
      unit: { enum: ['celsius', 'kelvin'] },
    };
    expect(instanceOf({ type: 'object', properties }, known)).toEqual({
      city: 'Paris',
      days: 1,
      hours: 12,
      unit: 'kelvin',
    });
  });

  it('makes a property called __proto__ like any other', () => {
    const schema: unknown = JSON.parse('{"properties":{"__proto__":{"const":1}},"required":["__proto__"]}');
    expect(JSON.stringify(instanceOf(schema, hints))).toBe('{"__proto__":1}');
  });

  it('keeps the order of the schema', () => {
    const properties = { z: {}, a: {}, m: {} };
    expect(Object.keys(instanceOf({ properties, required: ['m'] }, hints) as object)).toEqual(['z', 'a', 'm']);
  });
});
