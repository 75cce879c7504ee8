import { systemClock } from '../../../core/time/clock';
import { openChatChunks } from '../../../chat/chat-chunks';
import type { ChatRequest, ChunkStream, StreamSink } from '../../contract/chat';
import type { CallDeadlines, ProviderCall } from '../../contract/provider-call';
import { MockChat } from './mock-chat';

interface Chunk {
  readonly id: string;
  readonly choices: readonly {
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly arguments: string };
      }[];
    };
    readonly logprobs: { readonly content: readonly unknown[] } | null;
    readonly finish_reason: string | null;
  }[];
}

/** Collects frames; `acceptOnly` makes it slow: it applies back-pressure to every frame after this many. */
class RecordingSink implements StreamSink {
  readonly frames: string[] = [];
  onFrame: () => void = () => undefined;
  drains = 0;
  drain: () => Promise<void> = () => Promise.resolve();

  constructor(private readonly acceptOnly = Infinity) {}

  write(frames: string | Buffer): boolean {
    this.frames.push(String(frames));
    this.onFrame();
    return this.frames.length <= this.acceptOnly;
  }

  drained(): Promise<void> {
    this.drains += 1;
    return this.drain();
  }

  get chunks(): Chunk[] {
    return this.frames.map((frame) => JSON.parse(/^data: (.*)\n\n$/.exec(frame)?.[1] ?? '') as Chunk);
  }

  get text(): string {
    return this.chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  }
}

const controller = (): AbortController => new AbortController();

function callWith(signal: AbortSignal, deadlines: Partial<CallDeadlines> = {}): ProviderCall {
  return {
    requestId: 'req_1',
    attempt: 1,
    publicModel: 'mock/chat-1',
    upstreamModel: 'chat-1',
    features: {},
    quirks: {},
    deadlines: { connectMs: 5_000, firstTokenMs: 5_000, idleMs: 5_000, totalMs: 10_000, ...deadlines },
    signal,
  };
}

const chat = new MockChat(systemClock);
const ask = (content: string, fields: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'mock/chat-1',
  messages: [{ role: 'user', content: `[[mock: delay=0]] ${content}` }],
  stream: true,
  ...fields,
});

function open(
  request: ChatRequest,
  deadlines?: Partial<CallDeadlines>,
  signal = controller().signal,
): Promise<ChunkStream> {
  return openChatChunks(chat, request, callWith(signal, deadlines));
}
const failure = (code: string) =>
  expect.objectContaining({ code, options: expect.objectContaining({ phase: 'stream', fallback: false }) });

describe('a streamed reply', () => {
  it('carries the same content as a whole reply, role first and finish reason last', async () => {
    const sink = new RecordingSink();
    const stream = await open(ask('What is tea? 👨‍👩‍👧‍👦 お茶'));
    await stream.pipe(sink);
    const whole = await chat.complete(ask('What is tea? 👨‍👩‍👧‍👦 お茶'), callWith(controller().signal));

    const { chunks } = sink;
    expect(whole.body.choices).toMatchObject([{ message: { content: sink.text } }]);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.at(-1)?.choices).toEqual([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
    expect(chunks.slice(0, -1).every((chunk) => chunk.choices[0]?.finish_reason === null)).toBe(true);
    expect(sink.frames.join('')).not.toMatch(/\p{Cs}|\\ud[89a-f]/iu);
    expect(stream.progress).toEqual({
      id: chunks[0]?.id,
      created: expect.any(Number),
      outputBytes: whole.outputBytes,
      usage: whole.usage,
      finishReason: 'stop',
    });
  });

  it('carries the same id, time and model in every chunk, and never a usage', async () => {
    const sink = new RecordingSink();
    await (await open(ask('Hi'))).pipe(sink);
    const heads = sink.chunks.map((chunk) => JSON.stringify({ ...chunk, choices: [] }));
    expect(new Set(heads).size).toBe(1);
    expect(sink.chunks[0]).toMatchObject({ system_fingerprint: 'fp_mock' });
    expect(sink.chunks.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('sends id, type and name of a tool call once, then its arguments in pieces', async () => {
    const parameters = { type: 'object', properties: { query: { type: 'string' } } };
    const tool = (name: string) => ({ type: 'function', function: { name, parameters } });
    const sink = new RecordingSink();
    await (await open(ask('search_web and look_up', { tools: [tool('search_web'), tool('look_up')] }))).pipe(sink);

    const deltas = sink.chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    for (const [index, name] of ['search_web', 'look_up'].entries()) {
      const [first, ...rest] = deltas.filter((delta) => delta.index === index);
      expect(first).toEqual({
        index,
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name, arguments: '' },
      });
      expect(rest.length).toBeGreaterThan(1);
      expect(rest.every((delta) => Object.keys(delta.function).join() === 'arguments' && delta.id === undefined)).toBe(
        true,
      );
      expect(rest.map((delta) => delta.function.arguments).join('')).toBe('{"query":"search_web and look_up"}');
    }
    expect(sink.chunks[0]?.choices[0]?.delta.content).toBeNull();
    expect(sink.chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it.each([1, 7, 100])('splits the text into %i chunks when scripted', async (count) => {
    const sink = new RecordingSink();
    await (await open(ask(`[[mock: chunks=${count}]] Hi`))).pipe(sink);
    expect(sink.frames).toHaveLength(count + 2);
  });

  it('adds the log probabilities of its tokens to each chunk', async () => {
    const sink = new RecordingSink();
    await (await open(ask('[[mock: chunks=2 tokens=5]]', { logprobs: true }))).pipe(sink);
    expect(sink.chunks.map((chunk) => chunk.choices[0]?.logprobs?.content.length)).toEqual([
      undefined,
      2,
      3,
      undefined,
    ]);
  });

  it('reports no usage when scripted', async () => {
    const stream = await open(ask('[[mock: no_usage]]'));
    await stream.pipe(new RecordingSink());
    expect(stream.progress).toMatchObject({ usage: null, finishReason: 'stop' });
  });
});

describe('a slow receiver', () => {
  it('is awaited before every further chunk', async () => {
    const sink = new RecordingSink(1);
    const patience = Promise.withResolvers<void>();
    const waiting = new Promise<void>((resolve) => {
      sink.drain = () => {
        resolve();
        return patience.promise;
      };
    });
    const piped = open(ask('[[mock: chunks=3]]')).then((stream) => stream.pipe(sink));
    await waiting;
    expect(sink.frames).toHaveLength(2);
    sink.drain = () => Promise.resolve();
    patience.resolve();
    await piped;
    expect(sink.frames).toHaveLength(5);
    expect(sink.drains).toBe(4);
  });

  it('does not block a call that is aborted or past its deadline', async () => {
    const sink = new RecordingSink(0);
    const abort = controller();
    sink.drain = () => {
      abort.abort();
      return new Promise(() => undefined);
    };
    const aborted = await open(ask('Hi'), {}, abort.signal);
    await expect(aborted.pipe(sink)).rejects.toEqual(failure('provider_disconnect'));

    sink.drain = () => new Promise(() => undefined);
    const late = await open(ask('Hi'), { totalMs: 1_000 });
    await expect(late.pipe(sink)).rejects.toEqual(failure('stream_interrupted'));
  });
});

describe('a stream that is aborted', () => {
  it.each(['delay=0', 'delay=2s'])('ends at once with %s', async (pace) => {
    const abort = controller();
    const sink = new RecordingSink();
    sink.onFrame = () => abort.abort();
    const stream = await open(ask(`[[mock: ${pace}]] Hi`), {}, abort.signal);
    await expect(stream.pipe(sink)).rejects.toEqual(failure('provider_disconnect'));
    expect(sink.frames).toHaveLength(1);
  });
});

describe('a scripted failure after the first token', () => {
  it.each([
    ['reset_after=3', 'stream_interrupted', 4],
    ['error_after=1', 'stream_interrupted', 2],
    ['error_after=1 status=429', 'stream_interrupted', 2],
    ['no_finish chunks=5', 'provider_disconnect', 6],
    ['reset_after=900 chunks=5', 'stream_interrupted', 6],
    ['reset_after=4 error_after=2 no_finish', 'stream_interrupted', 3],
  ])('%s gives %s', async (directive, code, frames) => {
    const sink = new RecordingSink();
    const stream = await open(ask(`[[mock: ${directive}]] Hi`));
    await expect(stream.pipe(sink)).rejects.toEqual(failure(code));
    expect(sink.frames).toHaveLength(frames);
    expect(stream.progress).toMatchObject({
      outputBytes: Buffer.byteLength(sink.text),
      usage: null,
      finishReason: null,
    });
  });

  it('exceeds the idle limit with drip', async () => {
    const sink = new RecordingSink();
    const stream = await open(ask('[[mock: drip=1s]] Hi'), { idleMs: 100 });
    await expect(stream.pipe(sink)).rejects.toEqual(failure('stream_interrupted'));
    expect(sink.frames).toHaveLength(1);
  });

  it('exceeds the total limit with an endless response', async () => {
    const stream = await open(ask('[[mock: tokens=100000 delay=1ms]]'), { totalMs: 1_000 });
    await expect(stream.pipe(new RecordingSink())).rejects.toEqual(failure('stream_interrupted'));
  });
});
