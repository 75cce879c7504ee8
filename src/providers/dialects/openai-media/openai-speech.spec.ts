import { speechRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../../test/conformance/scripted-transport';
import type { SpeechStream } from '../../contract/speech';
import { OpenAiSpeech, toSpeechRequest } from './openai-speech';

const AUDIO = { 'content-type': 'audio/mpeg' };

/** Stays full until it is emptied. */
class SlowSink extends CollectingSink {
  private empty: (() => void) | null = null;

  override write(bytes: Buffer): boolean {
    super.write(bytes);
    return false;
  }

  override drained(): Promise<void> {
    return new Promise((resolve) => (this.empty = resolve));
  }

  drain(): void {
    this.empty?.();
  }
}

function speak(call = providerCall()): { transport: ScriptedTransport; opening: Promise<SpeechStream> } {
  const transport = new ScriptedTransport();
  return { transport, opening: new OpenAiSpeech(transport).speak(speechRequest(), call) };
}

const nextIteration = (): Promise<void> => new Promise(setImmediate);

describe('toSpeechRequest', () => {
  it('sends the requested fields only', () => {
    const base = { model: 'upstream-model', input: 'Hello there.', voice: 'alloy', response_format: 'mp3' };
    expect(toSpeechRequest(speechRequest(), providerCall())).toEqual(base);
    const full = speechRequest({ format: 'opus', speed: 1.5, instructions: 'Whisper.' });
    expect(toSpeechRequest(full, providerCall())).toEqual({
      ...base,
      response_format: 'opus',
      speed: 1.5,
      instructions: 'Whisper.',
    });
  });
});

describe('OpenAiSpeech', () => {
  afterEach(() => jest.useRealTimers());

  it('opens with the first bytes, not with the headers', async () => {
    const { transport, opening } = speak();
    let open = false;
    void opening.then(() => (open = true));
    transport.begin(AUDIO);
    await nextIteration();
    expect(open).toBe(false);
    transport.data('sound');
    await opening;
    expect(open).toBe(true);
    transport.end();
  });

  it('delivers every byte in order, and counts the delivered bytes', async () => {
    const { transport, opening } = speak();
    transport.begin(AUDIO).data('a');
    const stream = await opening;
    expect(stream.progress.audioBytes).toBe(0);
    const sink = new CollectingSink();
    const piped = stream.pipe(sink);
    expect(stream.progress.audioBytes).toBe(1);
    transport.data('b').data('c').end();
    await piped;
    expect([sink.output.toString(), stream.progress]).toEqual(['abc', { audioBytes: 3, usage: null }]);
  });

  it('fails and stops reading when the audio is longer than any request can produce', async () => {
    const { transport, opening } = speak();
    transport.begin(AUDIO).data('a');
    const stream = await opening;
    const sink = { write: () => true, drained: () => Promise.resolve() };
    const piped = stream.pipe(sink).catch((error: unknown) => error);
    const piece = Buffer.alloc(16 * 1024 * 1024);
    for (let pieces = 0; pieces < 9; pieces++) {
      transport.data(piece);
      await nextIteration();
    }
    expect(await piped).toMatchObject({ code: 'stream_interrupted' });
    expect(transport.aborted).toBe(true);
    expect(stream.progress.audioBytes).toBeLessThanOrEqual(128 * 1024 * 1024);
  });

  it.each([
    ['headers only', (transport: ScriptedTransport) => transport.begin(AUDIO).end(), 'provider_error'],
    [
      'a lost connection',
      (transport: ScriptedTransport) => transport.begin(AUDIO).breakConnection(),
      'provider_disconnect',
    ],
  ])('does not accept %s as audio', async (_name, play, code) => {
    const { transport, opening } = speak();
    play(transport);
    expect((await providerErrorOf(opening)).code).toBe(code);
  });

  it.each([
    ['audio/mpeg', true],
    ['audio/L16; rate=24000', true],
    ['application/ogg', true],
    ['application/octet-stream', true],
    [undefined, true],
    ['text/plain', false],
    ['text/html', false],
    ['image/png', false],
    ['application/octet-streams', false],
  ])('accepts a body of type %s as audio: %s', async (type, taken) => {
    const { transport, opening } = speak();
    transport.begin(type === undefined ? {} : { 'content-type': type }).data('x');
    const outcome = await opening.then(
      () => true,
      () => false,
    );
    expect(outcome).toBe(taken);
    transport.end();
  });

  it('refuses audio in a format other than the one requested', async () => {
    const { transport, opening } = speak();
    transport.begin(AUDIO).data('RIFF....WAVEfmt ');
    const { code, options } = await providerErrorOf(opening);
    expect([code, options.phase, options.fallback]).toEqual(['provider_error', 'first_token', true]);
    expect(transport.aborted).toBe(true);
  });

  it('maps a refusal with status 200', async () => {
    const { transport, opening } = speak();
    const error = { type: 'invalid_request_error', param: 'voice', message: 'no such voice' };
    transport.begin({ 'content-type': 'application/json' }).data(JSON.stringify({ error })).end();
    const { code, options } = await providerErrorOf(opening);
    expect([code, options.param]).toEqual(['validation_failed', 'voice']);
  });

  it('delivers the received audio and then reports truncated audio as an error', async () => {
    const { transport, opening } = speak();
    transport.begin(AUDIO).data('half');
    const stream = await opening;
    const sink = new CollectingSink();
    transport.data(' of it').breakConnection();
    const { code, options } = await providerErrorOf(stream.pipe(sink));
    expect([code, options.phase, options.fallback]).toEqual(['stream_interrupted', 'stream', false]);
    expect(sink.output.toString()).toBe('half of it');
  });

  it('reports silence in mid-audio as an interruption, but not slow audio', async () => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate'] });
    const deadlines = { connectMs: 1_000, firstTokenMs: 60_000, idleMs: 100, totalMs: 90_000 };
    const { transport, opening } = speak(providerCall({ deadlines }));
    transport.begin(AUDIO).data('a');
    const sink = new CollectingSink();
    const failed = providerErrorOf((await opening).pipe(sink));
    for (let piece = 0; piece < 5; piece++) {
      jest.advanceTimersByTime(80);
      transport.data('b');
    }
    expect(transport.aborted).toBe(false);
    jest.advanceTimersByTime(101);
    expect(transport.aborted).toBe(true);
    const { code, options } = await failed;
    expect([code, options.phase, sink.output.toString()]).toEqual(['stream_interrupted', 'stream', 'abbbbb']);
  });

  it('applies the client’s back-pressure without counting it as upstream silence', async () => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate'] });
    const deadlines = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 100, totalMs: 90_000 };
    const { transport, opening } = speak(providerCall({ deadlines }));
    transport.begin(AUDIO).data('a');
    const stream = await opening;
    const sink = new SlowSink();
    const piped = stream.pipe(sink);
    expect(transport.paused).toBe(true);
    jest.advanceTimersByTime(10_000);
    sink.drain();
    await nextIteration();
    expect([transport.paused, transport.aborted]).toEqual([false, false]);
    transport.data('b').end();
    await nextIteration();
    sink.drain();
    await piped;
    expect(sink.output.toString()).toBe('ab');
  });

  it('buffers at most 64 KiB until the caller pipes', async () => {
    const { transport, opening } = speak();
    transport.begin(AUDIO).data(Buffer.alloc(64 * 1024));
    const stream = await opening;
    expect(transport.paused).toBe(false);
    transport.data('x');
    expect(transport.paused).toBe(true);
    const piped = stream.pipe(new CollectingSink());
    expect(transport.paused).toBe(false);
    transport.end();
    await piped;
    expect(stream.progress.audioBytes).toBe(64 * 1024 + 1);
  });

  it('closes the upstream connection when the call is aborted in mid-audio', async () => {
    const abort = new AbortController();
    const { transport, opening } = speak(providerCall({ signal: abort.signal }));
    transport.begin(AUDIO).data('half');
    const piped = (await opening).pipe(new CollectingSink());
    abort.abort();
    expect((await providerErrorOf(piped)).options.phase).toBe('stream');
    expect(transport.aborted).toBe(true);
  });
});
