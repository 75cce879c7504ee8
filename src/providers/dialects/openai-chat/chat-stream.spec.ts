import { chunk, sse, UPSTREAM_ACCENTS } from '../../../../test/conformance/chat-chunks';
import {
  FINISH,
  FIRST,
  OUTPUTS,
  playStream,
  startStream,
  TEXT,
  USAGE,
} from '../../../../test/conformance/played-stream';
import { choiceOf, CollectingSink, deltaOf, providerCall } from '../../../../test/conformance/provider-call';
import type { ProviderCall } from '../../contract/provider-call';

describe('openChatChunks', () => {
  const recorded = Buffer.from(
    ': connected\n\n' +
      sse({ ...FIRST, choices: [] }, FIRST, TEXT, chunk({ content: ' größe' }), chunk({ content: ' 日本 😀\n"' })) +
      sse(chunk({ reasoning: 'why' }), chunk({ tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] })) +
      sse(chunk({}, { finish_reason: 'stop' }), USAGE, '[DONE]'),
  );

  it('writes the same bytes however the upstream’s bytes are split', async () => {
    const whole = await playStream([recorded]);
    expect(whole.failure).toBeNull();
    expect(whole.sink.text).toBe('Hi größe 日本 😀\n"');
    for (let split = 1; split < recorded.length; split++) {
      const { sink, stream } = await playStream([recorded.subarray(0, split), recorded.subarray(split)]);
      expect(sink.output.equals(whole.sink.output)).toBe(true);
      expect(stream.progress).toEqual(whole.stream.progress);
    }
    const { sink } = await playStream([...recorded].map((byte) => Buffer.of(byte)));
    expect(sink.output.equals(whole.sink.output)).toBe(true);
  });

  it('writes the same chunks for CR LF framing', async () => {
    const { sink, failure } = await playStream([recorded.toString().replaceAll('\n', '\r\n')]);
    expect(failure).toBeNull();
    expect(sink.output.equals((await playStream([recorded])).sink.output)).toBe(true);
  });

  it('writes chunks that strict clients accept, and leaves usage and [DONE] to the caller', async () => {
    const { sink, stream } = await playStream([sse(TEXT, chunk({ content: '!' }), FINISH, USAGE, '[DONE]')]);
    const base = {
      id: 'chatcmpl-up',
      object: 'chat.completion.chunk',
      created: 1700000000,
      model: 'vendor/public-model',
    };
    expect(sink.chunks).toEqual([
      { ...base, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }] },
      { ...base, choices: [{ index: 0, delta: { content: '!' }, finish_reason: null }] },
      { ...base, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ]);
    expect(stream.progress).toMatchObject({
      id: 'chatcmpl-up',
      created: 1700000000,
      outputBytes: 3,
      finishReason: 'stop',
      usage: { inputText: 3, outputText: 2 },
    });
  });

  it.each(UPSTREAM_ACCENTS)('forwards the text and no upstream-specific fields ($name)', async ({ build }) => {
    const words = ['Hello', ' wörld', '\n', '"quoted"', ' end'];
    const events = words.map((content) => `data: ${build({ content }).toString()}\n\n`);
    const { sink, failure, stream } = await playStream([sse(FIRST), ...events, sse(FINISH, '[DONE]')]);
    expect(failure).toBeNull();
    expect(sink.text).toBe(words.join(''));
    expect(sink.output.toString()).not.toMatch(/upstream-model|obfuscation|"usage"|system_fingerprint":null/);
    expect(stream.progress.outputBytes).toBe(Buffer.byteLength(words.join('')));
    expect(new Set(sink.chunks.map((each) => `${String(each['id'])} ${String(each['created'])}`)).size).toBe(1);
    expect(sink.chunks.filter((each) => deltaOf(each)['role'] !== undefined)).toHaveLength(1);
  });

  it('writes all events of one read at once', async () => {
    const { upstream, opened, sink } = startStream();
    upstream.begin().data(sse(FIRST));
    const piped = (await opened).pipe(sink);
    upstream.data(sse(TEXT)).data(sse(TEXT, TEXT));
    await Promise.resolve();
    upstream.data(sse(FINISH, '[DONE]'));
    await piped;
    expect(sink.writes).toHaveLength(3);
  });

  it('drops events that do not concern the client', async () => {
    const stray = { ...TEXT, choices: [{ index: 0, content_filter_results: {} }] };
    const { sink } = await playStream([
      sse({ ...FIRST, id: '', choices: [] }, FIRST, stray, TEXT, FINISH, TEXT, FINISH, '[DONE]', TEXT),
    ]);
    expect(sink.chunks.map((each) => choiceOf(each)['finish_reason'])).toEqual([null, null, 'stop']);
  });

  it('generates an id and a time where the upstream omits them, and keeps them', async () => {
    const anonymous = { ...TEXT, id: '', created: null };
    const { sink } = await playStream([sse(anonymous, anonymous, FINISH)]);
    const ids = new Set(sink.chunks.map((each) => each['id']));
    expect(ids.size).toBe(1);
    expect([...ids][0]).toMatch(/^chatcmpl-/);
    expect(sink.chunks.every((each) => Number.isInteger(each['created']))).toBe(true);
  });

  it('reports tool_calls when tools were called, unless the upstream’s finish reason is trusted', async () => {
    const call = chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] });
    const { stream } = await playStream([sse(call, FINISH, '[DONE]')]);
    expect(stream.progress.finishReason).toBe('tool_calls');
    expect(stream.progress.outputBytes).toBe(2);
    const trusted = await playStream(
      [sse(call, FINISH, '[DONE]')],
      providerCall({ quirks: { trustFinishReason: true } }),
    );
    expect(trusted.stream.progress.finishReason).toBe('stop');
  });

  it.each(OUTPUTS)('emits a call that never gets a name at the end of the stream, as %s', async (output) => {
    const nameless = [
      { index: 0, id: 'a', function: { arguments: '{' } },
      { index: 0, function: { arguments: '}' } },
      { index: 1, id: 'b', type: 'custom', custom: { input: 'x' } },
      { index: 2, id: 'c', function: {} },
    ].map((call) => chunk({ tool_calls: [call] }));
    const { sink, stream } = await playStream([sse(FIRST, ...nameless, FINISH, '[DONE]')], undefined, output);
    const calls = sink.chunks.flatMap((each) => (deltaOf(each)['tool_calls'] ?? []) as ToolCallDelta[]);
    expect(calls.filter(({ id }) => id !== undefined)).toMatchObject([
      { index: 0, id: 'a', type: 'function', function: { name: '' } },
      { index: 1, id: 'b', type: 'custom', custom: { name: '' } },
    ]);
    const inputs = calls.map(({ function: called, custom }) => called?.arguments ?? custom?.input ?? '');
    expect(inputs.filter((input) => input !== '')).toEqual(['{}', 'x']);
    expect(stream.progress).toMatchObject({ finishReason: 'tool_calls', outputBytes: 3 });
  });

  it('reports no tool_calls for a call without a name and arguments', async () => {
    const { sink, stream } = await playStream([sse(TEXT, chunk({ tool_calls: [{ index: 0 }] }), FINISH, '[DONE]')]);
    expect(sink.output.toString()).not.toContain('tool_calls');
    expect(stream.progress.finishReason).toBe('stop');
  });

  it.each(OUTPUTS)('ignores all choices but the first, as %s', async (output) => {
    const other = chunk({ content: 'no' }, { index: 1 });
    const both = { ...TEXT, choices: [choiceOf(other), choiceOf(TEXT)] };
    const otherFinish = chunk({}, { index: 1, finish_reason: 'length' });
    const bytes = sse(FIRST, TEXT, other, both, otherFinish, TEXT, FINISH, USAGE, '[DONE]');
    const { sink, stream } = await playStream([bytes], undefined, output);
    expect(sink.text).toBe('HiHiHi');
    expect(stream.progress).toMatchObject({ finishReason: 'stop', outputBytes: 6, usage: { inputText: 3 } });
  });

  it.each([
    ['twice, the last counts', [{ ...TEXT, usage: { prompt_tokens: 1, completion_tokens: 1 } }, FINISH, USAGE], 3],
    ['in the finish chunk', [TEXT, { ...FINISH, usage: { prompt_tokens: 9, completion_tokens: 1 } }], 9],
    ['where Moonshot puts it', [TEXT, chunk({}, { finish_reason: 'stop', usage: { prompt_tokens: 7 } })], 7],
    ['where Groq puts it', [TEXT, { ...FINISH, x_groq: { usage: { prompt_tokens: 8, completion_tokens: 1 } } }], 8],
    [
      'negative, so ignored',
      [TEXT, FINISH, { ...USAGE, usage: { prompt_tokens: -8, completion_tokens: 1 } }],
      undefined,
    ],
  ])('reads usage: %s', async (_name, events, inputText) => {
    const { stream, sink } = await playStream([sse(...events, '[DONE]')]);
    expect(stream.progress.usage?.inputText).toBe(inputText);
    expect(sink.output.toString()).not.toContain('usage');
  });

  it('separates reasoning from text in lists of parts', async () => {
    const thought = chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] });
    const text = chunk({ content: [{ type: 'text', text: 'Hi' }] });
    const { sink, stream } = await playStream([sse(FIRST, thought, text, FINISH, '[DONE]')]);
    const deltas = sink.chunks.map((each) => deltaOf(each));
    expect(deltas.map((delta) => [delta['content'], delta['reasoning_content']])).toEqual([
      ['', undefined],
      ['', 'Hm'],
      ['Hi', undefined],
      [undefined, undefined],
    ]);
    expect(stream.progress.outputBytes).toBe(4);
  });

  it('adds the sources of an upstream to the last chunk as annotations', async () => {
    const sources = { search_results: [{ title: 'A page', url: 'https://a.example' }] };
    const bytes = sse({ ...TEXT, ...sources }, { ...FINISH, ...sources }, '[DONE]');
    const { sink } = await playStream([bytes], providerCall({ quirks: { citations: true } }));
    const citation = { start_index: 0, end_index: 0, url: 'https://a.example', title: 'A page' };
    expect(sink.chunks.map((each) => deltaOf(each)['annotations'])).toEqual([
      undefined,
      [{ type: 'url_citation', url_citation: citation }],
    ]);
  });

  it.each([
    ['[DONE] is missing', sse(TEXT, FINISH)],
    ['usage is missing', sse(TEXT, FINISH, '[DONE]')],
    ['the last blank line is missing', sse(TEXT, FINISH).trimEnd()],
    ['an error follows the finish reason', sse(TEXT, FINISH, { error: { message: 'late' } })],
    ['garbage follows the finish reason', `${sse(TEXT, FINISH)}data: {"cut`],
  ])('succeeds when %s', async (_name, bytes) => {
    const { failure, stream } = await playStream([bytes]);
    expect(failure).toBeNull();
    expect(stream.progress.finishReason).toBe('stop');
  });
});

describe('openChatChunks with a slow receiver', () => {
  class SlowSink extends CollectingSink {
    release: () => void = () => undefined;

    override write(frames: string | Buffer): boolean {
      super.write(frames);
      return false;
    }

    override drained(): Promise<void> {
      return new Promise((resolve) => (this.release = resolve));
    }
  }

  it('stops reading until the sink has drained, and loses nothing', async () => {
    const { upstream, opened } = startStream();
    const sink = new SlowSink();
    upstream.begin().data(sse(FIRST));
    const stream = await opened;
    const piped = stream.pipe(sink);
    expect(upstream.paused).toBe(true);
    upstream.data(sse(TEXT));
    await Promise.resolve();
    expect(sink.writes).toHaveLength(1);
    expect(stream.progress.outputBytes).toBe(0);

    sink.release();
    await new Promise(setImmediate);
    expect(sink.text).toBe('Hi');
    sink.release();
    await new Promise(setImmediate);
    expect(upstream.paused).toBe(false);
    upstream.data(sse(FINISH, '[DONE]'));
    await new Promise(setImmediate);
    sink.release();
    await piped;
    expect(sink.chunks).toHaveLength(3);
  });

  it('does not count back-pressure as upstream silence', async () => {
    const deadlines = { connectMs: 1_000, firstTokenMs: 60_000, idleMs: 20, totalMs: 60_000 };
    const { upstream, opened } = startStream(providerCall({ deadlines }));
    const sink = new SlowSink();
    upstream.begin().data(sse(FIRST));
    const piped = (await opened).pipe(sink);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(upstream.aborted).toBe(false);
    sink.release();
    await new Promise(setImmediate);
    upstream.data(sse(FINISH, '[DONE]'));
    await new Promise(setImmediate);
    sink.release();
    await piped;
  });

  it('limits the wait for usage after the finish reason, also after back-pressure', async () => {
    const deadlines = { connectMs: 1, firstTokenMs: 1, idleMs: 30_000, totalMs: 30_000 };
    const { upstream, opened } = startStream(providerCall({ deadlines }));
    const sink = new SlowSink();
    upstream.begin().data(sse(FIRST, TEXT, FINISH));
    const piped = (await opened).pipe(sink);
    sink.release();
    await piped;
    expect(upstream.aborted).toBe(true);
  });

  it('buffers at most 64 KiB until the caller pipes', async () => {
    const { upstream, opened, sink } = startStream();
    upstream.begin().data(sse(FIRST));
    const stream = await opened;
    upstream.data(sse(chunk({ content: 'x'.repeat(70_000) })));
    expect(upstream.paused).toBe(true);
    const piped = stream.pipe(sink);
    expect(upstream.paused).toBe(false);
    upstream.data(sse(FINISH, '[DONE]'));
    await piped;
    expect(sink.text).toHaveLength(70_000);
  });
});

describe('openChatEvents', () => {
  const joined = (chunks: readonly Record<string, unknown>[]) => {
    const deltas = chunks.map(deltaOf);
    const textOf = (field: string) => deltas.map((delta) => delta[field] ?? '').join('');
    const calls = deltas.flatMap((delta) => (delta['tool_calls'] ?? []) as ToolCallDelta[]);
    return {
      role: deltas.map(({ role }) => role).filter((role) => role !== undefined),
      content: textOf('content'),
      reasoning: textOf('reasoning_content'),
      refusal: textOf('refusal'),
      names: calls.flatMap(({ index, id, type, function: called, custom }) =>
        id === undefined ? [] : [[index, id, type, called?.name ?? custom?.name]],
      ),
      inputs: [0, 1].map((index) => {
        const own = calls.filter((call) => call.index === index);
        return own.map(({ function: called, custom }) => called?.arguments ?? custom?.input ?? '').join('');
      }),
      logprobs: chunks.flatMap((each) => (choiceOf(each)['logprobs'] as { content: [] } | null)?.content ?? []),
      finish: chunks.map((each) => choiceOf(each)['finish_reason']).filter((reason) => reason !== null),
      heads: [...new Set(chunks.map(({ id, created, model }) => `${String(id)} ${String(created)} ${String(model)}`))],
    };
  };
  const call = (index: number, fields: object) => chunk({ tool_calls: [{ index, ...fields }] });
  const logprobs = { content: [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] }] };

  it.each<[string, readonly unknown[]]>([
    ['text', [FIRST, TEXT, chunk({ content: ' größe\n"' }), TEXT, FINISH, USAGE, '[DONE]']],
    ['reasoning before text', [FIRST, chunk({ reasoning: 'why' }), chunk({ reasoning_content: '?' }), TEXT, FINISH]],
    ['a refusal', [FIRST, chunk({ refusal: 'I will' }), chunk({ refusal: ' not.' }), FINISH]],
    ['log probabilities', [FIRST, chunk({ content: 'Hi' }, { logprobs }), FINISH]],
    ['text and finish in one chunk', [chunk({ content: 'Hi' }, { finish_reason: 'length' }), USAGE]],
    [
      'interleaved tool calls',
      [
        FIRST,
        call(0, { id: 'a', function: { name: 'f', arguments: '{' } }),
        call(1, { id: 'b', type: 'custom', custom: { name: 'g', input: 'x' } }),
        call(0, { function: { arguments: '}' } }),
        call(1, { custom: { input: 'y' } }),
        FINISH,
      ],
    ],
  ])('carries what the chunks carry: %s', async (_name, documents) => {
    const bytes = sse(...documents);
    const chunks = await playStream([bytes]);
    const events = await playStream([bytes], undefined, 'events');
    expect(events.failure).toBeNull();
    expect(joined(events.sink.chunks)).toEqual(joined(chunks.sink.chunks));
    expect(events.stream.progress).toEqual(chunks.stream.progress);
  });

  const page = (url: string, title: string, end = 0) => ({
    type: 'url_citation',
    url_citation: { start_index: 0, end_index: end, url, title },
  });
  const results = { search_results: [{ url: 'https://a.example', title: 'Größe' }, { url: 'https://b.example' }] };
  const inDelta = chunk({ annotations: [page('https://a.example', 'Größe', 2), { type: 'file', file: {} }] });

  it.each<[string, readonly unknown[], readonly unknown[], ProviderCall | undefined]>([
    ['in a delta', [FIRST, TEXT, inDelta, FINISH, USAGE], [page('https://a.example', 'Größe', 2)], undefined],
    [
      'beside the choices',
      [{ ...FIRST, ...results }, { ...TEXT, ...results }, { ...FINISH, ...results }, USAGE],
      [page('https://a.example', 'Größe'), page('https://b.example', 'https://b.example')],
      providerCall({ quirks: { citations: true } }),
    ],
  ])('carries the citations of web pages however the bytes are split: %s', async (_name, documents, expected, call) => {
    const bytes = Buffer.from(sse(...documents, '[DONE]'));
    for (let split = 1; split <= bytes.length; split++) {
      const pieces = [bytes.subarray(0, split), bytes.subarray(split)];
      const { sink, stream, failure } = await playStream(pieces, call, 'events');
      expect(failure).toBeNull();
      expect(sink.chunks.flatMap((each) => deltaOf(each)['annotations'] ?? [])).toEqual(expected);
      expect(sink.text).toBe('Hi');
      expect(stream.progress).toMatchObject({ outputBytes: 2, finishReason: 'stop', usage: { inputText: 3 } });
    }
  });

  it.each(UPSTREAM_ACCENTS)('carries the same text however the bytes are split ($name)', async ({ build }) => {
    const words = ['Hello', ' wörld', '\n', '"quoted"', ' \\ 😀', ' end'];
    const sent = words.map((content) => `data: ${build({ content }).toString()}\n\n`);
    const bytes = Buffer.from(sse(FIRST) + sent.join('') + sse(FINISH, USAGE, '[DONE]'));
    for (const size of [1, 7, 100, bytes.length]) {
      const pieces = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const { sink, stream, failure } = await playStream(pieces, undefined, 'events');
      expect(failure).toBeNull();
      expect(sink.text).toBe(words.join(''));
      expect(stream.progress).toMatchObject({ outputBytes: Buffer.byteLength(words.join('')), finishReason: 'stop' });
    }
  });
});

interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
  readonly custom?: { readonly name?: string; readonly input?: string };
}
