import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { PromptValues } from './conversation';
import { writeInstance } from './schema-instance';

const ajv = new Ajv2020({ strict: false, validateFormats: true });
addFormats(ajv);

const NO_HINTS = new PromptValues('');
const instanceOf = (schema: unknown, hints = NO_HINTS): unknown => JSON.parse(writeInstance(schema, hints, 'schema'));

/** The errors that ajv reports for the value made for a schema; `null` when it is valid. */
function complaintsAbout(schema: object): unknown {
  const value = instanceOf(schema);
  return ajv.validate(schema, value) ? null : { value, errors: ajv.errors };
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

describe('a JSON Schema answer', () => {
  it('is valid for every schema of the supported keywords', () => {
    fc.assert(
      fc.property(anySchema, (schema) => expect(complaintsAbout(schema)).toBeNull()),
      { numRuns: 200 },
    );
  });

  it.each([
    ['local references', { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'integer', minimum: 7 } } }],
    [
      'schemas that add to each other',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], title: 'one' },
          { properties: { a: { minimum: 3 }, b: { enum: ['x', 'y'] } }, required: ['b'], title: 'two' },
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
      'a closed object with alternatives',
      {
        type: 'object',
        properties: { a: {}, b: {} },
        additionalProperties: false,
        anyOf: [{ required: ['c'] }, { required: ['b'] }],
      },
    ],
    [
      'an alternative that cannot be met',
      { anyOf: [{ type: 'string', minLength: 5, maxLength: 2 }, { type: 'null' }] },
    ],
    ['an element for each index', { type: 'array', items: { type: 'integer', minimum: 1, maximum: 2 }, minItems: 5 }],
    [
      'required properties without a schema',
      { type: 'object', required: ['a'], additionalProperties: { type: 'integer' } },
    ],
  ])('is valid for %s', (_name, schema) => {
    expect(complaintsAbout(schema)).toBeNull();
  });

  it('ends recursion, optional or required', () => {
    const tree = {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } }, twin: { $ref: '#' } },
      required: ['children'],
    };
    const list = (choices: object[]) => ({
      type: 'object',
      properties: { next: { anyOf: choices } },
      required: ['next'],
    });
    expect(complaintsAbout(tree)).toBeNull();
    expect(complaintsAbout(list([{ $ref: '#' }, { type: 'null' }]))).toBeNull();
    expect(complaintsAbout(list([{ type: 'null' }, { $ref: '#' }]))).toBeNull();
  });

  it.each([
    ['endless recursion', { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }],
    ['a reference to itself', { $ref: '#' }],
    ['alternatives of itself', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['a reference elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['a reference to nothing', { $ref: '#/$defs/a' }],
    ['an endless array', { type: 'array', minItems: 1e9, items: {} }],
    ['an endless text', { type: 'string', minLength: 1e9 }],
    ['a long constant many times', { type: 'array', items: { const: 'x'.repeat(100_000) }, minItems: 1000 }],
    ['a wide schema many times', { type: 'array', items: { required: Array(5000).fill('a') }, minItems: 1000 }],
    ['two constants at once', { const: 1, allOf: [{ const: 2 }] }],
    ['two types at once', { allOf: [{ type: 'string' }, { type: 'object' }] }],
    ['nothing', { type: 'object', properties: { a: false }, required: ['a'] }],
    ['an empty enumeration', { enum: [] }],
    ['an unknown type', { type: 'file' }],
  ])('is refused with bounded work for %s', (_name, schema) => {
    const refusal = { code: 'validation_failed', options: expect.objectContaining({ param: 'schema' }) };
    expect(() => instanceOf(schema)).toThrow(expect.objectContaining(refusal));
  });

  it('survives keywords of the wrong type', () => {
    const names =
      'type enum const $ref allOf anyOf oneOf properties required additionalProperties items minItems maxItems ' +
      'minLength maxLength format minimum maximum multipleOf';
    const schemas = names
      .split(' ')
      .flatMap((name) => [{ toString: 1 }, [{}], null, 'text', -1].map((value) => ({ [name]: value })))
      .flatMap((part) => ['object', 'array', 'string', 'number'].map((type) => ({ type, ...part, allOf: [part] })));
    const errors = schemas.map((schema) => {
      try {
        instanceOf(schema);
        return undefined;
      } catch (error) {
        return (error as { readonly code?: string }).code ?? error;
      }
    });
    expect(errors.filter((error) => error !== undefined && error !== 'validation_failed')).toEqual([]);
  });

  it('uses the hints where the schema allows it', () => {
    const hints = new PromptValues('The weather in Paris at 12 in Kelvin');
    const properties = {
      city: { type: 'string' },
      days: { type: 'integer', maximum: 10 },
      hours: { type: 'integer', maximum: 24 },
      unit: { enum: ['celsius', 'kelvin'] },
    };
    const expected = { city: 'Paris', days: 1, hours: 12, unit: 'kelvin' };
    expect(instanceOf({ type: 'object', properties }, hints)).toEqual(expected);
  });

  it('has a property called __proto__ like any other, and keeps the order of the schema', () => {
    const schema =
      '{"type":"object","properties":{"__proto__":{"const":1},"b":{"const":2},"a":{"const":3}},"required":["a"]}';
    expect(writeInstance(JSON.parse(schema), NO_HINTS, 'schema')).toBe('{"__proto__":1,"b":2,"a":3}');
  });
});
