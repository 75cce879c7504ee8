import { chatRequest } from '../../../../test/conformance/provider-call';
import type { JsonObject } from '../../kit/json';
import { toGenerateRequest } from './generate-request';

const CITY = { type: 'object', properties: { name: { type: 'string' } }, title: 'City' };
const object = (properties: JsonObject, more: JsonObject = {}) => ({ type: 'object', properties, ...more });

/** The schema of a tool and that of the answer, as sent. */
function sent(schema: JsonObject): unknown[] {
  const request = chatRequest({
    tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  });
  const { tools, generationConfig } = toGenerateRequest(request, { features: {}, quirks: {} }) as {
    tools: [{ functionDeclarations: [{ parametersJsonSchema: unknown }] }];
    generationConfig: { responseJsonSchema: unknown };
  };
  return [tools[0].functionDeclarations[0].parametersJsonSchema, generationConfig.responseJsonSchema];
}

const LOOP = { items: { $ref: '#/definitions/list' } };
/** Each definition has the next one twice. */
const DOUBLING = Object.fromEntries(
  Array.from({ length: 30 }, (_, i) => {
    const next = { $ref: `#/definitions/d${i + 1}` };
    return [`d${i}`, object({ a: next, b: next })];
  }),
);

it.each<[string, JsonObject, JsonObject]>([
  [
    'definitions under the name of older drafts',
    object({ city: { $ref: '#/definitions/city' } }, { definitions: { city: CITY } }),
    object({ city: CITY }, { definitions: { city: CITY } }),
  ],
  [
    'a pointer to a property',
    object({ from: CITY, to: { $ref: '#/properties/from' } }),
    object({ from: CITY, to: CITY }),
  ],
  [
    'a pointer into a list, with an escaped name',
    object({ 'a/b': { anyOf: [CITY] }, to: { $ref: '#/properties/a~1b/anyOf/0' } }),
    object({ 'a/b': { anyOf: [CITY] }, to: CITY }),
  ],
  [
    'a title beside a reference, which takes precedence',
    object({ city: { $ref: '#/$defs/city', title: 'Home' } }, { $defs: { city: CITY } }),
    object({ city: { ...CITY, title: 'Home' } }, { $defs: { city: CITY } }),
  ],
  [
    'references within what is copied',
    object(
      { a: { $ref: '#/definitions/b' } },
      { definitions: { b: { anyOf: [{ $ref: '#/definitions/c' }] }, c: CITY } },
    ),
    object({ a: { anyOf: [CITY] } }, { definitions: { b: { anyOf: [CITY] }, c: CITY } }),
  ],
])('copies %s', (_name, schema, expected) => {
  expect(sent(schema)).toEqual([expected, expected]);
});

const LONG_TEXT = 'x'.repeat(10_000);
/** Many references to one definition. */
const repeated = (definition: JsonObject) =>
  object(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, { $ref: '#/definitions/long' }])), {
    definitions: { long: definition },
  });
const nested = (depth: number): JsonObject => (depth === 0 ? { title: LONG_TEXT } : { items: nested(depth - 1) });

it.each<[string, JsonObject]>([
  [
    'a definition with a description and a default',
    object({ city: { $ref: '#/$defs/city', description: 'Where', default: null } }, { $defs: { city: CITY } }),
  ],
  ['a reference that is no pointer', object({ city: { $ref: '#/%E0%A4%A/city' } })],
  ['a reference to nothing', object({ city: { $ref: '#/definitions/place' } })],
  ['a reference to another document', object({ city: { $ref: 'https://a.example/city' } })],
  ['a property with the name of the keyword', object({ $ref: { type: 'string' } })],
  ['references to a text that would fill the request', repeated({ type: 'string', description: LONG_TEXT })],
  ['references to a name that would fill the request', repeated(object({ [LONG_TEXT]: { type: 'string' } }))],
  ['references to a long reference to nothing', repeated({ items: { $ref: `#/${LONG_TEXT}` } })],
  ['references to a text beside one to nothing', repeated({ items: { $ref: '#/nothing', title: LONG_TEXT } })],
  ['references to a text that is nested too deep', repeated(nested(300))],
  ['references that would fill the request', object({ a: { $ref: '#/definitions/d0' } }, { definitions: DOUBLING })],
])('leaves %s', (_name, schema) => {
  expect(sent(schema)).toEqual([schema, schema]);
});

it('does not expand a recursive reference', () => {
  const [written] = sent(object({ list: { $ref: '#/definitions/list' } }, { definitions: { list: LOOP } }));
  expect(written).toMatchObject({ properties: { list: { items: { $ref: '#/definitions/list' } } } });
});

it('copies no more for many tools than for one', () => {
  const parameters = object({ a: { $ref: '#/definitions/d20' } }, { definitions: DOUBLING });
  const tools = Array.from({ length: 100 }, () => ({ type: 'function', function: { name: 'f', parameters } }));
  const request = chatRequest({ tools });
  const { length } = JSON.stringify(toGenerateRequest(request, { features: {}, quirks: {} }));
  expect(length).toBeLessThan(2 * JSON.stringify(tools).length);
});
