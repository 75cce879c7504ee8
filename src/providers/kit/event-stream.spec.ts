import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import type { StreamSink } from '../contract/chat';
import type { ChatEvent } from '../contract/chat-event';
import type { ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import { NO_USAGE } from '../contract/usage';
import { openEventStream } from './event-stream';

const START: ChatEvent = { type: 'start', id: 'c', created: 1 };
const text = (written: string): ChatEvent => ({ type: 'text', text: written });
const FINISH: ChatEvent = { type: 'finish', reason: 'stop' };
const USAGE: ChatEvent = { type: 'usage', usage: { ...NO_USAGE, outputText: 3 } };
type Step = readonly ChatEvent[] | Error | Promise<never>;

async function* script(steps: readonly Step[]): AsyncGenerator<readonly ChatEvent[]> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    yield await step;
  }
}

const silence = () => new Promise<never>(() => undefined);

class EventSink implements StreamSink<readonly ChatEvent[]> {
  readonly writes: (readonly ChatEvent[])[] = [];
  accepts = true;
  release: () => void = () => undefined;

  write(events: readonly ChatEvent[]): boolean {
    this.writes.push(events);
    return this.accepts;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => (this.release = resolve));
  }
}

async function play(steps: readonly Step[], call: ProviderCall = providerCall()) {
  const stream = await openEventStream(script(steps), call);
  const sink = new EventSink();
  const failure: unknown = await stream.pipe(sink).then(
    () => null,
    (error: unknown) => error,
  );
  return { sink, failure, progress: stream.progress };
}

describe('openEventStream', () => {
  it('passes the events on as they arrive, and keeps progress', async () => {
    const input: ChatEvent = { type: 'tool_input', index: 0, text: '{}' };
    const steps = [[START], [text('größe'), input], [FINISH, USAGE]];
    const { sink, failure, progress } = await play(steps);
    expect([failure, sink.writes]).toEqual([null, steps]);
    expect(progress).toEqual({
      id: 'c',
      created: 1,
      outputBytes: Buffer.byteLength('größe{}'),
      usage: { ...NO_USAGE, outputText: 3 },
      finishReason: 'stop',
    });
  });

  it('drops everything after the finish reason except usage', async () => {
    const { sink, progress } = await play([[START, FINISH], [text('late'), FINISH], [USAGE]]);
    expect(sink.writes).toEqual([[START, FINISH], [USAGE]]);
    expect([progress.outputBytes, progress.usage?.outputText]).toEqual([0, 3]);
  });

  const refusal = new ProviderError('provider_rate_limited', 'Slow down.', { phase: 'headers', fallback: true });

  it.each<[string, readonly Step[], string]>([
    ['throws', [refusal], 'provider_rate_limited'],
    ['ends', [], 'provider_disconnect'],
    ['yields something else', [[text('a')]], 'provider_disconnect'],
  ])('fails before the start, so that failover is possible, when the provider %s', async (_name, steps, code) => {
    const error = await providerErrorOf(openEventStream(script(steps), providerCall()));
    expect([error.code, error.options.fallback]).toEqual([code, true]);
  });

  it.each<[string, readonly Step[], string]>([
    ['without a finish reason', [], 'provider_disconnect'],
    ['with an error', [refusal], 'stream_interrupted'],
  ])('delivers the text and then fails when the provider ends %s', async (_name, steps, code) => {
    const { sink, failure, progress } = await play([[START, text('Hi')], ...steps]);
    expect(failure).toMatchObject({ code, options: { phase: 'stream', fallback: false } });
    expect([sink.writes.length, progress.outputBytes, progress.finishReason]).toEqual([1, 2, null]);
  });

  it.each([
    ['the idle limit', { idleMs: 20 }],
    ['the total limit', { totalMs: 20 }],
  ])('ends a silent provider at %s', async (_name, limit) => {
    const deadlines = { ...providerCall().deadlines, ...limit };
    const { failure } = await play([[START], silence()], providerCall({ deadlines }));
    expect(failure).toMatchObject({ code: 'stream_interrupted', options: { phase: 'stream' } });
  });

  it('ends at once when the call is aborted, also while the receiver is slow', async () => {
    for (const accepts of [true, false]) {
      const abort = new AbortController();
      const call = providerCall({ signal: abort.signal });
      const stream = await openEventStream(script([[START], silence()]), call);
      const sink = new EventSink();
      sink.accepts = accepts;
      const piped = providerErrorOf(stream.pipe(sink));
      abort.abort();
      expect((await piped).code).toBe('provider_disconnect');
    }
  });

  it('reads no further while the receiver is slow, and does not count that as silence', async () => {
    const deadlines = { ...providerCall().deadlines, idleMs: 20 };
    const stream = await openEventStream(script([[START], [text('a')], [FINISH]]), providerCall({ deadlines }));
    const sink = new EventSink();
    sink.accepts = false;
    const piped = stream.pipe(sink);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(sink.writes).toEqual([[START]]);
    sink.accepts = true;
    sink.release();
    await piped;
    expect(sink.writes).toEqual([[START], [text('a')], [FINISH]]);
  });
});
