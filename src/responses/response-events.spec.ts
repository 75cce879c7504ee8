import { type Arbitrary, array, assert, constantFrom, nat, oneof, option, property, record, string } from 'fast-check';
import { rebuild, type ResponseEvent as Event } from '../../test/conformance/response-reader';
import { schemaValidator } from '../../test/harness/openapi-validator';
import type { ChatChunk, ChatDelta, ToolCallDelta } from '../chat/chat-frames';
import { GatewayError } from '../core/errors/gateway-error';
import type { Bill, PricedText } from '../inference/inference.types';
import { NO_USAGE } from '../providers/contract/usage';
import type { ResponseRequestDto } from './dto/response-request.dto';
import { ResponseEvents } from './response-events';
import { ResponseObject } from './response-object';

const BODY: ResponseRequestDto = { model: 'mock/chat-1', input: 'hi' };
const BILL: Bill = {
  costMicro: 7n,
  usage: { ...NO_USAGE, inputText: 3, inputCacheRead: 2, inputCacheWrite5m: 1, outputText: 4, outputReasoning: 5 },
  usageEstimated: false,
};

const REQUEST_ID = `req_${'0'.repeat(32)}`;
const FAILURE = new GatewayError('stream_interrupted', 'The provider failed.');
const ERROR_EVENT = {
  type: 'error',
  code: 'stream_interrupted',
  message: 'The provider failed.',
  param: null,
  error: {
    type: 'provider_error',
    code: 'stream_interrupted',
    message: 'The provider failed.',
    request_id: REQUEST_ID,
  },
};

describe('any chat stream', () => {
  const text = string({ unit: 'grapheme' });
  const call = record({
    index: nat(3),
    function: record({ name: string(), arguments: text }),
  });
  const delta: Arbitrary<ChatDelta> = oneof(
    record({ content: option(text) }),
    record({ refusal: option(text) }),
    record({ content: text, tool_calls: array(call, { maxLength: 3 }) }),
    record({ tool_calls: array(call, { minLength: 1, maxLength: 2 }) }),
    record({ reasoning_content: text }),
  );
  const finish = constantFrom('stop', 'length', 'tool_calls', 'content_filter');

  it('yields well-formed events whose deltas add up to the final response', () => {
    assert(
      property(array(delta), finish, (deltas, finishReason) => {
        const events = play(deltas, finishReason);
        expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_event, index) => index));
        expect(rebuild(events)).toEqual(events.at(-1).response.output);
        expect(writtenBy(events)).toEqual(wantedOf(deltas));
      }),
    );
  });
});

interface Written {
  readonly text: string;
  readonly refusal: string;
  readonly calls: string[];
}

function writtenBy(events: readonly Event[]): Written {
  const { output } = events.at(-1).response;
  const parts: Event[] = output.flatMap(({ content = [] }: Event) => content);
  return {
    text: parts.map((part) => part.text ?? '').join(''),
    refusal: parts.map((part) => part.refusal ?? '').join(''),
    calls: output.flatMap((item: Event) => (item.type === 'function_call' ? item.arguments : [])),
  };
}

function wantedOf(deltas: readonly ChatDelta[]): Written {
  const calls = new Map<number, string>();
  for (const { index, function: called } of deltas.flatMap(
    ({ tool_calls = [] }): readonly ToolCallDelta[] => tool_calls,
  )) {
    calls.set(index, (calls.get(index) ?? '') + (called?.arguments ?? ''));
  }
  return {
    text: deltas.map(({ content }) => content ?? '').join(''),
    refusal: deltas.map(({ refusal }) => refusal ?? '').join(''),
    calls: [...calls.values()],
  };
}

const isEvent = schemaValidator('ResponseStreamEvent');

function newEvents(): ResponseEvents {
  return new ResponseEvents(new ResponseObject(BODY, 'req_0123', 1_700_000_000));
}

function chunk(delta: ChatDelta): ChatChunk {
  return { id: 'chatcmpl-1', created: 1, model: 'mock/chat-1', choices: [{ delta, finish_reason: null }] };
}

/** Parses events and validates each against the API document. */
function read(text: string): Event[] {
  const events = text.split('\n\n').slice(0, -1);
  return events.map((event) => {
    expect(event.startsWith('data: ')).toBe(true);
    const parsed = JSON.parse(event.slice('data: '.length));
    expect([isEvent(parsed), isEvent.errors]).toEqual([true, null]);
    return parsed;
  });
}

const filled = ({ head, tail }: PricedText): string => `${head}7${tail}`;

/** All events of a stream with these deltas. */
function play(deltas: readonly ChatDelta[], finishReason: string | null = 'stop'): Event[] {
  const events = newEvents();
  const text = deltas.map((delta) => events.translate(chunk(delta))).join('');
  const end = events.complete({ model: 'mock/chat-1', finishReason, endedAt: 1_700_000_009, bill: BILL });
  return read(text + filled(end));
}

const begin = (index: number, id: string, name: string, text = ''): ChatDelta => ({
  tool_calls: [{ index, id, function: { name, arguments: text } }],
});
const more = (index: number, text: string): ChatDelta => ({ tool_calls: [{ index, function: { arguments: text } }] });
const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type.replace('response.', ''));

describe('a stream of text', () => {
  const events = play([{ role: 'assistant', content: '' }, { content: 'Hel' }, { content: 'lo "you"\n' }, {}]);

  it('is a message with one growing part', () => {
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events[4]).toEqual({
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: 'msg_0123_0',
      output_index: 0,
      content_index: 0,
      delta: 'Hel',
      logprobs: [],
    });
    expect(events[6]).toMatchObject({ text: 'Hello "you"\n' });
  });

  it('starts with a response in progress and ends with the complete response, usage and cost', () => {
    expect(events[0].response).toMatchObject({
      id: 'resp_0123',
      created_at: 1_700_000_000,
      status: 'in_progress',
      output: [],
      usage: null,
      completed_at: null,
    });
    expect(events.at(-1).response).toMatchObject({
      id: 'resp_0123',
      status: 'completed',
      completed_at: 1_700_000_009,
      output: [
        {
          id: 'msg_0123_0',
          type: 'message',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello "you"\n', annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 6,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 5 },
        total_tokens: 15,
        x_llm_cost_micro: 7,
      },
    });
  });
});

it('writes interleaved tool calls as separate items', () => {
  const events = play([
    begin(0, 'call_a', 'a'),
    more(0, '{"x'),
    begin(1, 'call_b', 'b', '{'),
    more(0, '":1}'),
    more(1, '}'),
  ]);
  expect(typesOf(events).slice(2, -1)).toEqual([
    'output_item.added',
    'function_call_arguments.delta',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'function_call_arguments.done',
    'output_item.done',
  ]);
  expect(events.at(-1).response.output).toEqual([
    { id: 'fc_0123_0', type: 'function_call', call_id: 'call_a', name: 'a', arguments: '{"x":1}', status: 'completed' },
    { id: 'fc_0123_1', type: 'function_call', call_id: 'call_b', name: 'b', arguments: '{}', status: 'completed' },
  ]);
});

it('completes a message before the first call and starts a new one after it', () => {
  const events = play([{ content: 'a' }, begin(0, 'call_a', 'f', '{}'), { content: 'b' }]);
  const done = typesOf(events).indexOf('output_item.done');
  expect(events[done].item).toMatchObject({ type: 'message', content: [{ text: 'a' }] });
  expect(events[done + 1]).toMatchObject({ type: 'response.output_item.added', item: { type: 'function_call' } });
  expect(events.at(-1).response.output.map(({ type }: Event) => type)).toEqual(['message', 'function_call', 'message']);
});

it('writes a refusal as a separate part', () => {
  const events = play([{ content: 'Hm.' }, { refusal: 'I will ' }, { refusal: 'not.' }]);
  expect(events.at(-1).response.output).toMatchObject([
    {
      content: [
        { type: 'output_text', text: 'Hm.' },
        { type: 'refusal', refusal: 'I will not.' },
      ],
    },
  ]);
  expect(typesOf(events).filter((type) => type.startsWith('refusal'))).toEqual([
    'refusal.delta',
    'refusal.delta',
    'refusal.done',
  ]);
});

it('omits reasoning', () => {
  const events = play([{ reasoning_content: 'Secret thoughts.' }, { content: 'Yes.' }]);
  expect(JSON.stringify(events)).not.toContain('Secret');
});

it.each([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
])('ends as incomplete after %s, with an incomplete last item', (finishReason, reason) => {
  const last = play([{ content: 'Hel' }, begin(0, 'call_a', 'f', '{"x')], finishReason).at(-1);
  expect(last).toMatchObject({
    type: 'response.incomplete',
    response: {
      status: 'incomplete',
      incomplete_details: { reason },
      completed_at: null,
      output: [{ status: 'completed' }, { status: 'incomplete' }],
    },
  });
});

it('contains an empty message when the model returned nothing', () => {
  const events = play([{ role: 'assistant' }]);
  expect(typesOf(events)).toContain('output_item.done');
  expect(events.at(-1).response.output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
});

describe('an interrupted stream', () => {
  it('ends as failed with its partial output and consecutive numbers, also after complete()', () => {
    const events = newEvents();
    const received = read(events.translate(chunk({ content: 'Hel' })));
    events.complete({ model: 'mock/chat-1', finishReason: 'stop', endedAt: 1, bill: BILL });
    const [failed, error] = read(events.fail(FAILURE, REQUEST_ID));
    expect(failed).toMatchObject({
      type: 'response.failed',
      sequence_number: received.length,
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'The provider failed.' },
        output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
        usage: null,
      },
    });
    expect(error).toEqual({ ...ERROR_EVENT, sequence_number: received.length + 1 });
  });

  it('yields only the error before the response has begun', () => {
    expect(read(newEvents().fail(FAILURE, REQUEST_ID))).toEqual([{ ...ERROR_EVENT, sequence_number: 0 }]);
  });
});
