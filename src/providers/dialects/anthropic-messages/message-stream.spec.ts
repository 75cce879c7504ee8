import {
  CollectedEvents,
  events,
  finish,
  PING,
  playMessage,
  redacted,
  START,
  startMessage,
  STOP,
  text,
  thinking,
  toolUse,
} from '../../../../test/conformance/message-events';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { AnswerBlock } from './reasoning-state';

const USED = {
  inputText: 10,
  inputCacheRead: 5,
  inputCacheWrite5m: 3,
  inputCacheWrite1h: 4,
  outputText: 5,
  outputReasoning: 4,
};
const errorOf = (type: string) => ({ type: 'error', error: { type, message: 'Late' } });
const ERROR = errorOf('overloaded_error');

describe('a message stream', () => {
  const recorded = events(
    START,
    PING,
    ...thinking(0, 'c2ln', 'Let me', ' see'),
    ...redacted(1, 'b3BhcXVl'),
    ...text(2, 'größe', ' 日本 😀\n"'),
    ...toolUse(3, 'toolu_1', 'look_up', '{"q":', '"a"}'),
    ...toolUse(4, 'toolu_2', 'list'),
    PING,
    finish('tool_use'),
    STOP,
  );

  it('translates blocks of all kinds, with call indexes that count calls only', async () => {
    const { list, stream, failure } = await playMessage(recorded);
    expect(failure).toBeNull();
    expect(list).toEqual([
      { type: 'start', id: 'chatcmpl-01', created: expect.any(Number) },
      { type: 'reasoning', text: 'Let me see' },
      { type: 'text', text: 'größe 日本 😀\n"' },
      { type: 'tool_call', index: 0, id: 'toolu_1', kind: 'function', name: 'look_up' },
      { type: 'tool_input', index: 0, text: '{"q":"a"}' },
      { type: 'tool_call', index: 1, id: 'toolu_2', kind: 'function', name: 'list' },
      { type: 'tool_input', index: 1, text: '{}' },
      { type: 'finish', reason: 'tool_calls' },
      { type: 'usage', usage: expect.objectContaining(USED) },
    ]);
    expect(stream.progress).toMatchObject({
      id: 'chatcmpl-01',
      finishReason: 'tool_calls',
      outputBytes: Buffer.byteLength('Let me seegröße 日本 😀\n"{"q":"a"}{}'),
      usage: USED,
    });
  });

  it('translates the same however the upstream’s bytes are split', async () => {
    const bytes = Buffer.from(recorded);
    const whole = (await playMessage(bytes)).list.slice(1);
    for (let split = 1; split < bytes.length; split++) {
      const { list } = await playMessage(bytes.subarray(0, split), bytes.subarray(split));
      expect(list.slice(1)).toEqual(whole);
    }
    expect((await playMessage(...[...bytes].map((byte) => Buffer.of(byte)))).list.slice(1)).toEqual(whole);
    expect((await playMessage(recorded.replaceAll('\n', '\r\n'))).list.slice(1)).toEqual(whole);
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['tool_use', 'stop'],
    ['a_reason_of_tomorrow' as never, 'stop'],
  ] as const)('reports the stop reason %s of an answer without calls as %s', async (reason, expected) => {
    const { stream } = await playMessage(events(START, ...text(0, 'Hi'), finish(reason), STOP));
    expect(stream.progress.finishReason).toBe(expected);
  });

  it('reports a refusal before any text, with its explanation', async () => {
    const details = { type: 'refusal', category: 'cyber', explanation: 'Asks for an exploit.' } as const;
    const { list, stream } = await playMessage(events(START, finish('refusal', { stop_details: details }), STOP));
    expect(list.map(({ type }) => type)).toEqual(['start', 'refusal', 'finish', 'usage']);
    expect(list[1]).toMatchObject({ text: 'Asks for an exploit.' });
    expect(stream.progress.outputBytes).toBe(0);
  });

  it('replaces earlier usage by later usage, which is cumulative, and keeps it where the later one is null', async () => {
    const update = finish('end_turn') as Extract<ReturnType<typeof finish>, { type: 'message_delta' }>;
    const early = { ...update, delta: { ...update.delta, stop_reason: null }, usage: { output_tokens: 4 } };
    const late = { ...update, usage: { ...update.usage, input_tokens: null, output_tokens: 20 } };
    const { stream } = await playMessage(events(START, ...text(0, 'Hi'), early, late, STOP));
    expect(stream.progress.usage).toMatchObject({ ...USED, outputText: 16 });
  });

  it('ignores events, blocks and deltas of unknown kinds', async () => {
    const unknown = [
      { type: 'notice', text: 'x' },
      { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use', id: 's', name: 'n' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_delta', index: 1, delta: { type: 'citations_delta', citation: {} } },
      { type: 'content_block_delta', index: 4_000_000_000, delta: { type: 'text_delta', text: 'x' } },
    ];
    const { list, failure } = await playMessage(
      events(START, ...unknown, ...text(1, 'Hi'), finish('end_turn'), finish('end_turn'), STOP),
    );
    expect(failure).toBeNull();
    expect(list.map(({ type }) => type)).toEqual(['start', 'text', 'finish', 'usage']);
  });

  it('does not wait for the end of the reply after the finish reason and usage', async () => {
    const { upstream, opened } = startMessage();
    upstream.begin().data(events(START, ...text(0, 'Hi'), finish('end_turn')));
    await (await opened).pipe(new CollectedEvents());
    expect(upstream.aborted).toBe(false);
    upstream.data(events(STOP)).end();
  });

  it('does not end before the reasoning is stored', async () => {
    const stored = Promise.withResolvers<void>();
    const kept: AnswerBlock[] = [];
    const { upstream, opened } = startMessage(undefined, (blocks) => {
      kept.push(...blocks);
      return stored.promise;
    });
    upstream.begin().data(recorded).end();
    let ended = false;
    const piped = (await opened).pipe(new CollectedEvents()).then(() => (ended = true));
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    stored.resolve();
    await piped;
    expect(kept).toEqual([
      { type: 'thinking', thinking: 'Let me see', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      { type: 'text', text: 'größe 日本 😀\n"' },
      { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: { q: 'a' } },
      { type: 'tool_use', id: 'toolu_2', name: 'list', input: {} },
    ]);
  });
});

describe('a message stream before the first block', () => {
  it.each([
    ['an error event', events(ERROR), 'provider_unavailable'],
    ['an error event behind message_start', events(START, PING, ERROR), 'provider_unavailable'],
    ['a rate limit', events(errorOf('rate_limit_error')), 'provider_rate_limited'],
    ['a timeout', events(errorOf('timeout_error')), 'provider_timeout'],
    ['an internal error', events(errorOf('api_error')), 'provider_unavailable'],
    ['an event that is not JSON', 'data: {oops\n\n', 'provider_error'],
    ['a JSON event that is not an object', 'data: 5\n\n', 'provider_error'],
    ['nothing', '', 'provider_disconnect'],
    ['pings only', events(PING, PING), 'provider_disconnect'],
    ['message_start only', events(START), 'provider_disconnect'],
    ['message_stop as the first event', events(STOP), 'provider_disconnect'],
    ['an error event without its line end', `data: ${JSON.stringify(ERROR)}`, 'provider_unavailable'],
    ['an error event that was cut off', 'data: {"type":"error","err', 'provider_disconnect'],
    ['an event of more than 1 MiB', `data: ${'x'.repeat(1024 * 1024 + 1)}`, 'provider_error'],
  ])('fails with an HTTP status and allows a fallback: %s', async (_name, bytes, code) => {
    const { upstream, opened } = startMessage();
    upstream.begin().data(bytes).end();
    const error = await providerErrorOf(opened);
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'first_token', true]);
  });

  it('enforces the first-token limit despite pings', async () => {
    const deadlines = { connectMs: 60_000, firstTokenMs: 30, idleMs: 60_000, totalMs: 60_000 };
    const { upstream, opened } = startMessage(providerCall({ deadlines }));
    upstream.begin().data(events(START, PING));
    const error = await providerErrorOf(opened);
    expect([error.code, upstream.aborted]).toEqual(['provider_timeout', true]);
  });
});

describe('a message stream after the first block', () => {
  const [open, delta] = text(0, 'Hi') as [typeof START, typeof START];
  const [call] = toolUse(1, 'toolu_1', 'f') as [typeof START];

  it.each([
    ['an error event', events(ERROR), 'stream_interrupted'],
    ['two events that are garbage', 'data: {"type":\n\n'.repeat(2), 'stream_interrupted'],
    ['garbage instead of the finish reason', `data: {"type":\n\n${events(STOP)}`, 'provider_disconnect'],
    [
      'garbage within a tool call',
      `${events(call)}data: {"type":\n\n${events(finish('tool_use'))}`,
      'stream_interrupted',
    ],
    ['an event of more than 1 MiB', `data: ${'x'.repeat(1024 * 1024 + 1)}`, 'stream_interrupted'],
    ['the end without a finish reason', '', 'provider_disconnect'],
    ['the end in mid-event', 'data: {"type":"content', 'provider_disconnect'],
    ['an error event without its line end', `data: ${JSON.stringify(ERROR)}`, 'stream_interrupted'],
    ['message_stop without a finish reason', events(STOP), 'provider_disconnect'],
  ])('delivers the events before the fault and then fails: %s', async (_name, bytes, code) => {
    const { upstream, opened } = startMessage();
    upstream.begin().data(events(START, open));
    const stream = await opened;
    const sink = new CollectedEvents();
    upstream.data(events(delta)).data(bytes).end();
    const error = await providerErrorOf(stream.pipe(sink));
    expect([error.code, error.options.phase, error.options.fallback]).toEqual([code, 'stream', false]);
    expect(sink.list[1]).toEqual({ type: 'text', text: 'Hi' });
    expect(stream.progress.outputBytes).toBe(2);
  });

  it('skips one event that cannot be parsed, and counts it', async () => {
    const { list, stream } = await playMessage(
      `${events(START, open, delta)}data: {"type":\n\n${events(delta, finish('end_turn'), STOP)}`,
    );
    expect(list[1]).toEqual({ type: 'text', text: 'HiHi' });
    expect(stream.progress).toMatchObject({ skippedEvents: 1, outputBytes: 4 });
  });

  it('counts pings as activity', async () => {
    const deadlines = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 300, totalMs: 60_000 };
    const { upstream, opened } = startMessage(providerCall({ deadlines }));
    upstream.begin().data(events(START, open));
    const piped = (await opened).pipe(new CollectedEvents());
    for (let count = 0; count < 10; count++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      upstream.data(events(PING));
    }
    upstream.data(events(delta, finish('end_turn'), STOP)).end();
    await expect(piped).resolves.toBeUndefined();
  });

  it('closes the upstream at once when the call is aborted', async () => {
    const abort = new AbortController();
    const { upstream, opened } = startMessage(providerCall({ signal: abort.signal }));
    upstream.begin().data(events(START, open));
    const piped = (await opened).pipe(new CollectedEvents());
    abort.abort();
    expect(upstream.aborted).toBe(true);
    await providerErrorOf(piped);
  });
});
