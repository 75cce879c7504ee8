import { array, assert, boolean, constantFrom, nat, oneof, property, record, string } from 'fast-check';
import { rebuild, type ResponseEvent as Event } from '../../test/conformance/response-reader';
import { schemaValidator } from '../../test/harness/openapi-validator';
import { GatewayError } from '../core/errors/gateway-error';
import type { Bill, PricedText } from '../inference/inference.types';
import type { ChatEvent } from '../providers/contract/chat-event';
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
  const words = string({ unit: 'grapheme' });
  const texts = constantFrom('text' as const, 'refusal' as const, 'reasoning' as const);
  const written = record({ type: texts, text: words });
  const called = record({
    type: constantFrom('tool_call' as const),
    kind: constantFrom('function' as const),
    name: string(),
  });
  const input = record({ type: constantFrom('tool_input' as const), index: nat(3), text: words });
  const citation = record({ start_index: nat(), end_index: nat(), url: string(), title: string() });
  const cited = record({
    type: constantFrom('annotation' as const),
    annotation: record({ type: constantFrom('url_citation' as const), url_citation: citation }),
  });
  const items = oneof(
    record({ type: constantFrom('message' as const), phase: constantFrom('commentary', 'final') }),
    record({ type: constantFrom('part' as const), kind: constantFrom('text' as const, 'refusal' as const) }),
    record({ type: constantFrom('message_end' as const), complete: boolean() }),
    record({ type: constantFrom('tool_end' as const), index: nat(3), complete: constantFrom(true) }),
  );
  const steps = array(oneof(written, called, input, cited, items)).map(numbered);
  const finish = constantFrom('stop', 'length', 'tool_calls', 'content_filter');

  it('yields well-formed events whose deltas add up to the final response', () => {
    assert(
      property(steps, finish, (deltas, finishReason) => {
        const events = play(deltas, finishReason);
        expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_event, index) => index));
        expect(rebuild(events)).toEqual(events.at(-1).response.output);
        expect(writtenBy(events)).toEqual(wantedOf(deltas));
      }),
    );
  });
});

type Step = ChatEvent | { readonly type: 'tool_call'; readonly kind: 'function'; readonly name: string };

/** Numbers the calls and leaves out input for calls that have not begun or have ended. */
function numbered(steps: readonly Step[]): ChatEvent[] {
  let calls = 0;
  const ended = new Set<number>();
  return steps.flatMap((step): ChatEvent[] => {
    if (step.type === 'tool_call') return [{ ...step, index: calls, id: `call_${calls++}` }];
    if (step.type === 'tool_end') ended.add(step.index);
    return step.type === 'tool_input' && (step.index >= calls || ended.has(step.index)) ? [] : [step];
  });
}

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

function wantedOf(events: readonly ChatEvent[]): Written {
  const calls: string[] = [];
  for (const event of events) {
    if (event.type === 'tool_call') calls.push('');
    else if (event.type === 'tool_input') calls[event.index] += event.text;
  }
  const joined = (type: 'text' | 'refusal'): string =>
    events.map((event) => (event.type === type ? event.text : '')).join('');
  return { text: joined('text'), refusal: joined('refusal'), calls };
}

const isEvent = schemaValidator('ResponseStreamEvent');

function newEvents(): ResponseEvents {
  return new ResponseEvents(new ResponseObject(BODY, 'req_0123', 1_700_000_000));
}

const START: ChatEvent = { type: 'start', id: 'chatcmpl-1', created: 1 };
const text = (written: string): ChatEvent => ({ type: 'text', text: written });
const refusal = (written: string): ChatEvent => ({ type: 'refusal', text: written });

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

/** All events of a response to these chat events, which arrive one by one. */
function play(chat: readonly ChatEvent[], finishReason: string | null = 'stop'): Event[] {
  const events = newEvents();
  const written = [START, ...chat].map((event) => events.translate([event], 'mock/chat-1')).join('');
  const end = events.complete({ model: 'mock/chat-1', finishReason, endedAt: 1_700_000_009, bill: BILL });
  return read(written + filled(end));
}

const begin = (index: number, id: string, name: string): ChatEvent => ({
  type: 'tool_call',
  index,
  id,
  kind: 'function',
  name,
});
const more = (index: number, input: string): ChatEvent => ({ type: 'tool_input', index, text: input });
const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type.replace('response.', ''));

describe('a stream of text', () => {
  const events = play([text(''), text('Hel'), text('lo "you"\n')]);

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
    begin(1, 'call_b', 'b'),
    more(1, '{'),
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
  const events = play([text('a'), begin(0, 'call_a', 'f'), more(0, '{}'), text('b')]);
  const done = typesOf(events).indexOf('output_item.done');
  expect(events[done].item).toMatchObject({ type: 'message', content: [{ text: 'a' }] });
  expect(events[done + 1]).toMatchObject({ type: 'response.output_item.added', item: { type: 'function_call' } });
  expect(events.at(-1).response.output.map(({ type }: Event) => type)).toEqual(['message', 'function_call', 'message']);
});

it('writes a refusal as a separate part', () => {
  const events = play([text('Hm.'), refusal('I will '), refusal('not.')]);
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

describe('sources of the answer', () => {
  const cited = (start: number, end: number) => ({ start_index: start, end_index: end, url: 'x:', title: 'A "page"' });
  const source = (start: number, end: number): ChatEvent => ({
    type: 'annotation',
    annotation: { type: 'url_citation', url_citation: cited(start, end) },
  });
  const annotation = (start: number, end: number): object => ({ type: 'url_citation', ...cited(start, end) });
  const annotationsOf = (events: readonly Event[]): object[][] =>
    events
      .at(-1)
      .response.output.flatMap(({ content = [] }: Event) => content.map((part: Event) => part.annotations ?? []));

  it('are annotations of the text, each announced by an event', () => {
    const events = play([text('Größe.'), source(0, 5), source(0, 6), text(' Ende.')]);
    const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
    expect(added).toEqual([
      {
        type: 'response.output_text.annotation.added',
        sequence_number: 5,
        item_id: 'msg_0123_0',
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: annotation(0, 5),
      },
      expect.objectContaining({ sequence_number: 6, annotation_index: 1, annotation: annotation(0, 6) }),
    ]);
    expect(annotationsOf(events)).toEqual([[annotation(0, 5), annotation(0, 6)]]);
    expect(rebuild(events)).toEqual(events.at(-1).response.output);
  });

  it('count from the start of their part, not of the answer', () => {
    const events = play([text('One.'), begin(0, 'call_a', 'f'), text('Two.'), source(4, 7)]);
    expect(annotationsOf(events)).toEqual([[], [annotation(0, 3)]]);
  });

  it('wait for the text when they arrive before it', () => {
    expect(annotationsOf(play([source(0, 2), text('Hi')]))).toEqual([[annotation(0, 2)]]);
  });

  it('are left out when their part is done', () => {
    const events = play([text('One.'), begin(0, 'call_a', 'f'), source(0, 3), text('Two.'), source(0, 3)]);
    expect(annotationsOf(events)).toEqual([[], []]);
    expect(rebuild(events)).toEqual(events.at(-1).response.output);
  });
});

describe('items of the upstream', () => {
  const message = (phase?: string): ChatEvent => ({ type: 'message', ...(phase !== undefined && { phase }) });
  const part = (kind: 'text' | 'refusal'): ChatEvent => ({ type: 'part', kind });
  const messageEnd = (complete = true): ChatEvent => ({ type: 'message_end', complete });
  const toolEnd = (index: number): ChatEvent => ({ type: 'tool_end', index, complete: true });

  it('keep their messages, phases and parts, also empty ones', () => {
    const first = [message('commentary'), part('text'), text('I look.'), part('text'), messageEnd()];
    const events = play([...first, message('final'), part('refusal'), refusal('No.'), messageEnd()]);
    expect(events.at(-1).response.output).toMatchObject([
      { id: 'msg_0123_0', phase: 'commentary', content: [{ text: 'I look.' }, { text: '' }] },
      { id: 'msg_0123_1', phase: 'final', content: [{ refusal: 'No.' }] },
    ]);
    expect(rebuild(events)).toEqual(events.at(-1).response.output);
  });

  it('are completed as soon as the upstream completes them, so that a client can run a call immediately', () => {
    const events = play([begin(0, 'call_a', 'f'), more(0, '{}'), toolEnd(0), begin(1, 'call_b', 'f'), toolEnd(1)]);
    expect(typesOf(events).slice(2, -1)).toEqual([
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.done',
      'output_item.done',
    ]);
  });

  it('keep the status with which they ended', () => {
    const last = play([message(), part('text'), text('Hel'), messageEnd(false)], 'length').at(-1);
    expect(last.response).toMatchObject({ status: 'incomplete', output: [{ status: 'incomplete' }] });
    const failed = newEvents();
    failed.translate([START, message(), text('Hi'), messageEnd(), message(), text('Wh')], 'mock/chat-1');
    expect(read(failed.fail(FAILURE, REQUEST_ID)).at(-2)).toMatchObject({
      response: { output: [{ status: 'completed' }, { status: 'incomplete' }] },
    });
  });
});

it('omits reasoning', () => {
  const events = play([{ type: 'reasoning', text: 'Secret thoughts.' }, text('Yes.')]);
  expect(JSON.stringify(events)).not.toContain('Secret');
});

it.each([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
])('ends as incomplete after %s, with an incomplete last item', (finishReason, reason) => {
  const last = play([text('Hel'), begin(0, 'call_a', 'f'), more(0, '{"x')], finishReason).at(-1);
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
  const events = play([]);
  expect(typesOf(events)).toContain('output_item.done');
  expect(events.at(-1).response.output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
});

describe('an interrupted stream', () => {
  it('ends as failed with its partial output and consecutive numbers, also after complete()', () => {
    const events = newEvents();
    const received = read(events.translate([START, text('Hel')], 'mock/chat-1'));
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
