import { anything, array, assert, constantFrom, dictionary, oneof, property, record, string } from 'fast-check';
import { GatewayError } from '../../src/core/errors/gateway-error';
import type { ResponseRequestDto } from '../../src/responses/dto/response-request.dto';
import type { InputItem } from '../../src/providers/contract/chat';
import { toChatRequest } from '../../src/responses/to-chat-request';
import { toInputItems } from '../../src/responses/to-input-items';
import { openapiDocument } from '../harness/openapi-document';
import { schemaValidator } from '../harness/openapi-validator';
import { RESPONSE_BODIES } from './response-bodies';
import { SchemaCases } from './schema-cases';

/**
 * Every valid request becomes a chat completion that is valid by the document, and well-formed input items if it has no
 * parts of chat, or is refused with the field's name.
 */
const isRequest = schemaValidator('ResponseRequest');
const isChat = schemaValidator('ChatCompletionRequest');
const OWN_PATH = /^(input|instructions|tools|tool_choice|text\.format)\b(?!.*(messages|function|custom|json_schema))/;
/** Path within an item that becomes a chat message. */
const IN_CHAT_CALL = /(?<=^input\[\d+\])\.tool_calls.*/;

/** Whether an upstream of the Responses API can read an item. */
function isWellFormed({ type, call_id: id, name, arguments: args, input, output, role, content }: InputItem): boolean {
  const isContent = (value: unknown): boolean => typeof value === 'string' || Array.isArray(value);
  if (type === 'message') return typeof role === 'string' && isContent(content);
  if (type.endsWith('_output')) return typeof id === 'string' && isContent(output);
  return [id, name, type === 'function_call' ? args : input].every((field) => typeof field === 'string');
}

/** `null`: correct. */
function faultOf(body: unknown): string | null {
  if (!isRequest(body)) return null;
  try {
    const { chat } = toChatRequest(body as ResponseRequestDto);
    const malformed = toInputItems(body as ResponseRequestDto)?.find((item) => !isWellFormed(item));
    if (malformed !== undefined) return JSON.stringify(malformed);
    // As sent to the provider: without undefined fields.
    return isChat(JSON.parse(JSON.stringify(chat))) ? null : JSON.stringify(isChat.errors);
  } catch (error) {
    if (!(error instanceof GatewayError)) return String(error);
    const { code, param = '' } = error;
    return code === 'validation_failed' && OWN_PATH.test(param.replace(IN_CHAT_CALL, '')) ? null : `${code} ${param}`;
  }
}

it('holds for every case derived from the document', () => {
  const bodies = [...RESPONSE_BODIES, ...new SchemaCases(openapiDocument()).of('ResponseRequest')];
  expect(bodies.filter((body) => isRequest(body)).length).toBeGreaterThan(200);
  const faults = bodies.map((body) => [faultOf(body), body]).filter(([fault]) => fault !== null);
  expect(faults).toEqual([]);
});

it('holds for items and tools of any shape', () => {
  const word = constantFrom(
    'input_text',
    'output_text',
    'input_image',
    'input_file',
    'refusal',
    'text',
    'image_url',
    'x',
  );
  const json = anything({ maxDepth: 2, values: [string(), constantFrom(null, true, 1)] });
  const part = record(
    { type: word, text: json, image_url: json, file_data: json, detail: json, refusal: json },
    { requiredKeys: ['type'] },
  );
  const content = oneof(string(), array(part, { maxLength: 3 }));
  const item = record(
    {
      type: constantFrom(
        'message',
        'function_call',
        'function_call_output',
        'custom_tool_call',
        'custom_tool_call_output',
        'reasoning',
        null,
      ),
      role: constantFrom('user', 'assistant', 'system', 'developer', 'tool', 'function', 'wizard'),
      content,
      output: oneof(content, json),
      call_id: string(),
      name: string(),
      input: json,
      arguments: oneof(string(), json),
      tool_calls: json,
      refusal: json,
    },
    { requiredKeys: [] },
  );
  const named = record(
    { type: constantFrom('function', 'custom', 'web_search'), name: constantFrom('f', 'a b', null), format: json },
    { requiredKeys: ['type'] },
  );
  const choice = oneof(
    constantFrom('auto', 'none', 'required', 'any'),
    record({
      type: constantFrom('function', 'custom', 'allowed_tools', 'web_search'),
      name: json,
      mode: constantFrom('auto', 'all'),
      tools: oneof(array(named), json),
    }),
  );
  const format = record(
    { type: constantFrom('text', 'json_object', 'json_schema'), name: json, schema: json, strict: json },
    { requiredKeys: ['type'] },
  );
  const body = record(
    {
      model: constantFrom('mock/chat-1'),
      input: oneof(string(), array(item, { minLength: 1, maxLength: 5 })),
      instructions: string(),
      tools: array(named, { maxLength: 3 }),
      tool_choice: choice,
      text: record({ format }),
      metadata: dictionary(string(), string()),
    },
    { requiredKeys: ['model', 'input'] },
  );
  assert(
    property(body, (given) => expect(faultOf(JSON.parse(JSON.stringify(given)))).toBeNull()),
    { numRuns: 500 },
  );
});
