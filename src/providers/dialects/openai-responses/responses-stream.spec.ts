import { chatChunks, RenderedStream } from '../../../chat/chat-chunks';
import { sse } from '../../../../test/conformance/chat-chunks';
import { CollectingSink, deltaOf, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../../test/conformance/scripted-transport';
import {
  added,
  callSteps,
  completed,
  created,
  done,
  failed,
  functionCall,
  incomplete,
  message,
  outputText,
  reasoningSteps,
  type Step,
  stream,
  textDelta,
  USAGE,
} from '../../../../test/conformance/upstream-responses';
import type { ChatEvent } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { openResponsesEvents } from './responses-stream';

function start(call: ProviderCall = providerCall()) {
  const upstream = new ScriptedTransport();
  const opened = openResponsesEvents({ http: upstream, endpoint: '/responses', body: '{}', call });
  opened.catch(() => undefined);
  return { upstream, opened };
}

interface Played {
  readonly events: readonly ChatEvent[];
  readonly progress: object;
}

async function play(pieces: readonly (string | Buffer)[]): Promise<Played> {
  const { upstream, opened } = start();
  upstream.begin();
  for (const piece of pieces) upstream.data(piece);
  upstream.end();
  const answer = await opened;
  const events: ChatEvent[] = [];
  await answer.pipe({ write: (batch) => events.push(...batch) > 0, drained: () => Promise.resolve() });
  return { events, progress: answer.progress };
}

const eventsOf = async (...steps: readonly Step[]): Promise<readonly ChatEvent[]> =>
  (await play([stream(created(), ...steps)])).events;
const START: ChatEvent = { type: 'start', id: 'chatcmpl-up', created: 1700000000 };
const USAGE_EVENT = expect.objectContaining({ type: 'usage' }) as ChatEvent;

/** Reasoning in two paragraphs, text, and two calls whose arguments interleave. */
const RECORDED: readonly Step[] = [
  created({ service_tier: 'flex' }),
  ...reasoningSteps('sealed', [['Größe', '?'], ['日本 😀']], 0),
  textDelta('Ich ', 1),
  textDelta('schaue "nach"\n', 1),
  done(message([outputText('Ich schaue "nach"\n')]), 1),
  ...interleave(
    callSteps('call_1', 'weather', ['{"city":', '"Zürich"}'], 3),
    callSteps('call_2', 'now', ['{', '}'], 5),
  ),
  completed(),
];

function interleave(one: readonly Step[], other: readonly Step[]): Step[] {
  return one.flatMap((step, index) => [step, other[index] as Step]);
}

it('translates a whole answer to typed events, calls counted in the order of their beginning', async () => {
  const { events, progress } = await play([stream(...RECORDED)]);
  expect(events).toEqual([
    { ...START, serviceTier: 'flex' },
    { type: 'reasoning', text: 'Größe' },
    { type: 'reasoning', text: '?' },
    { type: 'reasoning', text: '\n\n' },
    { type: 'reasoning', text: '日本 😀' },
    { type: 'text', text: 'Ich ' },
    { type: 'text', text: 'schaue "nach"\n' },
    { type: 'tool_call', index: 0, id: 'call_1', kind: 'function', name: 'weather' },
    { type: 'tool_call', index: 1, id: 'call_2', kind: 'function', name: 'now' },
    { type: 'tool_input', index: 0, text: '{"city":' },
    { type: 'tool_input', index: 1, text: '{' },
    { type: 'tool_input', index: 0, text: '"Zürich"}' },
    { type: 'tool_input', index: 1, text: '}' },
    { type: 'finish', reason: 'tool_calls' },
    USAGE_EVENT,
  ]);
  const text = 'Größe?\n\n日本 😀Ich schaue "nach"\n{"city":"Zürich"}{}';
  expect(progress).toMatchObject({
    id: 'chatcmpl-up',
    created: 1700000000,
    finishReason: 'tool_calls',
    outputBytes: Buffer.byteLength(text),
    usage: { inputText: 16, inputCacheRead: 10, inputCacheWrite5m: 4, outputText: 7, outputReasoning: 5 },
  });
});

it('gives the same events however the bytes are split', async () => {
  const recorded = Buffer.from(stream(...RECORDED));
  const whole = await play([recorded]);
  for (let split = 1; split < recorded.length; split++) {
    expect(await play([recorded.subarray(0, split), recorded.subarray(split)])).toEqual(whole);
  }
  expect(await play([...recorded].map((byte) => Buffer.of(byte)))).toEqual(whole);
});

it.each([
  ['CR LF line ends', (text: string) => text.replaceAll('\n\n', '\r\n\r\n')],
  ['comments', (text: string) => text.replaceAll('event:', ': ping\n\nevent:')],
  ['unknown events', (text: string) => text.replaceAll('event:', 'data: {"type":"keepalive"}\n\nevent:')],
  ['[DONE] at the end', (text: string) => text + sse('[DONE]')],
  [
    'item ids that change',
    (text: string) => text.replaceAll(/"item_id":"[^"]*"/g, () => `"item_id":"${Math.random()}"`),
  ],
])('gives the same events for a stream with %s', async (_name, alter) => {
  const recorded = stream(...RECORDED);
  expect((await play([alter(recorded)])).events).toEqual((await play([recorded])).events);
});

it('renders as chunks that strict clients accept', async () => {
  const { upstream, opened } = start();
  upstream
    .begin()
    .data(stream(created(), ...callSteps('call_1', 'f', ['{}'], 0), completed()))
    .end();
  const sink = new CollectingSink();
  await new RenderedStream(await opened, chatChunks('vendor/public-model')).pipe(sink);
  expect(sink.chunks.map(deltaOf)).toEqual([
    { role: 'assistant', content: null },
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
    {},
  ]);
});

it('translates log probabilities, refusals and custom tools', async () => {
  const logprobs = [{ token: 'Hi', logprob: -0.5, top_logprobs: [{ token: 'Ho', logprob: -1 }] }];
  const at = { item_id: 'i', output_index: 0 };
  const custom = { type: 'custom_tool_call', id: 'i', call_id: 'call_1', name: 'sql', input: '' } as const;
  expect(
    await eventsOf(
      { type: 'response.output_text.delta', ...at, content_index: 0, delta: 'Hi', logprobs },
      { type: 'response.refusal.delta', ...at, content_index: 1, delta: 'No.' },
      added(custom, 1),
      { type: 'response.custom_tool_call_input.delta', item_id: 'i', output_index: 1, delta: 'select 1' },
      done({ ...custom, input: 'select 1' }, 1),
      completed(),
    ),
  ).toEqual([
    START,
    {
      type: 'text',
      text: 'Hi',
      logprobs: [
        { token: 'Hi', logprob: -0.5, bytes: null, top_logprobs: [{ token: 'Ho', logprob: -1, bytes: null }] },
      ],
    },
    { type: 'refusal', text: 'No.' },
    { type: 'tool_call', index: 0, id: 'call_1', kind: 'custom', name: 'sql' },
    { type: 'tool_input', index: 0, text: 'select 1' },
    { type: 'finish', reason: 'tool_calls' },
    USAGE_EVENT,
  ]);
});

describe('citations of web pages', () => {
  type Added = Extract<Step, { type: 'response.output_text.annotation.added' }>;
  const cite = (place: number, annotation: Added['annotation']): Step => ({
    type: 'response.output_text.annotation.added',
    item_id: `item_${place}`,
    output_index: place,
    content_index: 0,
    annotation_index: 0,
    annotation,
  });
  const page = (start: number, end: number) => ({
    type: 'url_citation' as const,
    start_index: start,
    end_index: end,
    url: 'https://a.example',
    title: 'Größe',
  });
  const annotation = (start: number, end: number): ChatEvent => ({
    type: 'annotation',
    annotation: {
      type: 'url_citation',
      url_citation: { url: 'https://a.example', title: 'Größe', start_index: start, end_index: end },
    },
  });
  const CITED: readonly Step[] = [
    created(),
    textDelta('Grö', 1),
    textDelta('ße 😀. ', 1),
    cite(1, page(0, 5)),
    cite(1, { type: 'file_citation', file_id: 'f', filename: 'a.txt', index: 0 }),
    textDelta('Ende', 2),
    textDelta('.', 2),
    cite(2, page(1, 4)),
    completed(),
  ];

  it('are annotations with offsets in the whole text, and leave text, usage and finish unchanged', async () => {
    const { events, progress } = await play([stream(...CITED)]);
    expect(events.slice(1)).toEqual([
      { type: 'text', text: 'Grö' },
      { type: 'text', text: 'ße 😀. ' },
      annotation(0, 5),
      { type: 'text', text: 'Ende' },
      { type: 'text', text: '.' },
      annotation(11, 14),
      { type: 'finish', reason: 'stop' },
      USAGE_EVENT,
    ]);
    expect(progress).toMatchObject({ outputBytes: Buffer.byteLength('Größe 😀. Ende.'), finishReason: 'stop' });
  });

  it('are the same however the bytes are split', async () => {
    const recorded = Buffer.from(stream(...CITED));
    const whole = await play([recorded]);
    for (let split = 1; split < recorded.length; split++) {
      expect(await play([recorded.subarray(0, split), recorded.subarray(split)])).toEqual(whole);
    }
  });
});

it('takes a call that the upstream sends only as a whole', async () => {
  const call = functionCall('call_1', 'f', '{"a":1}');
  const expected = [
    START,
    { type: 'tool_call', index: 0, id: 'call_1', kind: 'function', name: 'f' },
    { type: 'tool_input', index: 0, text: '{"a":1}' },
    { type: 'finish', reason: 'tool_calls' },
    USAGE_EVENT,
  ];
  expect(await eventsOf(done(call, 0), completed())).toEqual(expected);
  expect(await eventsOf(added({ ...call, arguments: '' }, 0), done(call, 0), completed())).toEqual(expected);
});

it('accepts a last event that repeats an answer of more than 1 MiB', async () => {
  const output = [message([outputText('x'.repeat(1024 * 1024))])];
  expect((await eventsOf(textDelta('x'), completed({ output }))).at(-1)).toEqual(USAGE_EVENT);
});

it('gives an empty answer a start and a finish', async () => {
  expect(await eventsOf(completed())).toEqual([START, { type: 'finish', reason: 'stop' }, USAGE_EVENT]);
});

it.each([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content_filter'],
] as const)('ends a response that is incomplete because of %s with %s', async (reason, expected) => {
  expect((await eventsOf(textDelta('Hi'), incomplete(reason))).slice(2)).toEqual([
    { type: 'finish', reason: expected },
    USAGE_EVENT,
  ]);
});

const FLAT = { type: 'error', code: 'rate_limit_exceeded', message: 'x', param: null, sequence_number: 1 };
const NESTED = { type: 'error', error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'x' } };

describe('before the first output', () => {
  it.each([
    ['a flat error event as the first event', sse(FLAT), 'provider_rate_limited'],
    ['a nested error event as the first event', sse(NESTED), 'provider_rate_limited'],
    ['an error event without a type', sse({ error: { code: 503 } }), 'provider_unavailable'],
    ['a failed response', stream(created(), failed('server_error')), 'provider_unavailable'],
    [
      'a failure while the model reasons',
      stream(created(), ...reasoningSteps('s', [], 0), failed('server_error')),
      'provider_unavailable',
    ],
    ['an event that is not JSON', 'data: {oops\n\n', 'provider_error'],
    ['a JSON event that is not an object', 'data: 5\n\n', 'provider_error'],
    [
      'input of a call that has not begun',
      stream(created(), callSteps('a', 'f', ['{}'], 0)[1] as Step),
      'provider_error',
    ],
    ['the end of a response in progress', stream(created(), completed({ status: 'in_progress' })), 'provider_error'],
    ['nothing', '', 'provider_disconnect'],
    ['comments only', ': a\n\n: b\n\n', 'provider_disconnect'],
    ['no output', stream(created()), 'provider_disconnect'],
    ['[DONE] as the first event', sse('[DONE]'), 'provider_disconnect'],
    ['an error event without its line end', `data: ${JSON.stringify(FLAT)}`, 'provider_rate_limited'],
    ['an error event that was cut off', 'data: {"type":"error","cod', 'provider_disconnect'],
    ['an event of more than 8 MiB', `data: ${'x'.repeat(8 * 1024 * 1024 + 1)}`, 'provider_error'],
  ])('fails with an HTTP status and allows a fallback: %s', async (_name, bytes, code) => {
    const { upstream, opened } = start();
    upstream.begin().data(bytes).end();
    const error = await providerErrorOf(opened);
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'first_token', true]);
  });

  it('maps a content policy refusal to validation_failed without failover', async () => {
    const { upstream, opened } = start();
    upstream.begin().data(stream(created(), failed('invalid_prompt')));
    const error = await providerErrorOf(opened);
    expect(error).toMatchObject({ code: 'validation_failed', options: { details: { reason: 'content_filtered' } } });
    expect(error.options.fallback).toBe(false);
    expect(error.message).not.toContain('Secret');
  });

  it('enforces the first-token limit while the model reasons', async () => {
    const deadlines = { connectMs: 60_000, firstTokenMs: 30, idleMs: 60_000, totalMs: 60_000 };
    const { upstream, opened } = start(providerCall({ deadlines }));
    upstream.begin().data(stream(created(), reasoningSteps('s', [], 0)[0] as Step));
    const error = await providerErrorOf(opened);
    expect([error.code, error.options.fallback, upstream.aborted]).toEqual(['provider_timeout', true, true]);
  });
});

describe('after the first output', () => {
  it.each([
    ['a flat error event', sse(FLAT), 'stream_interrupted'],
    ['a nested error event', sse(NESTED), 'stream_interrupted'],
    ['a failed response', stream(failed('server_error')), 'stream_interrupted'],
    ['two events that are garbage', 'data: {"type":\n\n'.repeat(2), 'stream_interrupted'],
    [
      'garbage within a tool call',
      `${stream(...callSteps('a', 'f', ['{'], 1).slice(0, 2))}data: {"type":\n\n`,
      'stream_interrupted',
    ],
    ['an event of more than 8 MiB', `data: ${'x'.repeat(8 * 1024 * 1024 + 1)}`, 'stream_interrupted'],
    ['the end without a finish reason', '', 'provider_disconnect'],
    ['the end in mid-event', 'data: {"type":"respon', 'provider_disconnect'],
    ['garbage instead of the finish reason', 'data: {"type":\n\n', 'provider_disconnect'],
    ['an error event without its line end', `data: ${JSON.stringify(NESTED)}`, 'stream_interrupted'],
    ['[DONE] without a finish reason', sse('[DONE]'), 'provider_disconnect'],
  ])('delivers the events before the fault and then fails: %s', async (_name, bytes, code) => {
    const { upstream, opened } = start();
    upstream.begin().data(stream(created(), textDelta('Hi')));
    const answer = await opened;
    upstream.data(bytes).end();
    const events: ChatEvent[] = [];
    const piped = answer.pipe({ write: (batch) => events.push(...batch) > 0, drained: () => Promise.resolve() });
    const error = await providerErrorOf(piped);
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'stream', false]);
    expect(events.slice(0, 2)).toEqual([START, { type: 'text', text: 'Hi' }]);
  });

  it('skips one event that cannot be parsed, and counts it', async () => {
    const { events, progress } = await play([
      `${stream(created(), textDelta('Hi'))}data: {"type":\n\n${stream(textDelta('!'), completed({ usage: USAGE }))}`,
    ]);
    expect(events.map((event) => ('text' in event ? event.text : '')).join('')).toBe('Hi!');
    expect(progress).toMatchObject({ skippedEvents: 1, finishReason: 'stop' });
  });

  it('ends when the upstream hangs after the response has completed', async () => {
    const { upstream, opened } = start();
    upstream.begin().data(stream(created(), textDelta('Hi'), completed()));
    await (await opened).pipe({ write: () => true, drained: () => Promise.resolve() });
    expect(upstream.aborted).toBe(false);
  });

  it('closes the upstream at once when the call is aborted', async () => {
    const abort = new AbortController();
    const { upstream, opened } = start(providerCall({ signal: abort.signal }));
    upstream.begin().data(stream(created(), textDelta('Hi')));
    const piped = (await opened).pipe({ write: () => true, drained: () => Promise.resolve() });
    abort.abort();
    expect(upstream.aborted).toBe(true);
    await providerErrorOf(piped);
  });
});
