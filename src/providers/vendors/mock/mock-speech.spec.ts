import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { systemClock } from '../../../common/clock';
import type { SpeechRequest } from '../../contract/speech';
import { MockSpeech } from './mock-speech';

const speech = new MockSpeech(systemClock);
const TEXT = 'Hello there, this is the mock speaking.';

function wish(input: string, fields: Partial<SpeechRequest> = {}): SpeechRequest {
  return { input, voice: 'alloy', format: 'pcm', speed: null, instructions: null, ...fields };
}

async function hear(input: string, fields: Partial<SpeechRequest> = {}) {
  const sink = new CollectingSink();
  const stream = await speech.speak(wish(input, fields), providerCall());
  await stream.pipe(sink);
  return { sink, stream };
}

describe('MockSpeech', () => {
  it.each(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const)('speaks %s and counts its bytes', async (format) => {
    const { sink, stream } = await hear(TEXT, { format });
    expect(sink.output.length).toBeGreaterThan(1_000);
    expect(stream.progress).toEqual({ audioBytes: sink.output.length, usage: null });
  });

  it('never speaks a directive', async () => {
    const plain = await hear(TEXT);
    const scripted = await hear(`${TEXT}[[mock: chunks=3]]`);
    expect(Math.abs(scripted.sink.output.length - plain.sink.output.length)).toBeLessThan(10);
  });

  it('has something to give for a text of nothing but a directive', async () => {
    const { sink } = await hear('[[mock: delay=0]]', { format: 'mp3' });
    expect(sink.output.length).toBeGreaterThan(0);
  });

  it('sends as many pieces as told', async () => {
    const { sink } = await hear(`${TEXT}[[mock: chunks=7]]`);
    expect(sink.writes).toHaveLength(7);
  });

  it('reports tokens only when a script says so', async () => {
    const { stream } = await hear(`${TEXT}[[mock: usage_prompt=3 usage_completion=50]]`);
    expect(stream.progress.usage).toMatchObject({ inputText: 3, outputAudio: 50, characters: 0 });
  });

  it('waits for a slow receiver before it goes on', async () => {
    const sink = new CollectingSink();
    let release: () => void = () => undefined;
    jest.spyOn(sink, 'drained').mockImplementation(() => new Promise((resolve) => (release = resolve)));
    const write = jest.spyOn(CollectingSink.prototype, 'write').mockReturnValueOnce(false);
    const stream = await speech.speak(wish(`${TEXT}[[mock: chunks=4]]`), providerCall());
    const piped = stream.pipe(sink);
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    expect(write).toHaveBeenCalledTimes(1);
    release();
    await piped;
    expect(write).toHaveBeenCalledTimes(4);
    write.mockRestore();
  });
});

describe('scripts for speech', () => {
  it.each([
    ['status=400', 'validation_failed'],
    ['status=429', 'provider_rate_limited'],
    ['reset_after=0', 'provider_unavailable'],
    ['error_after=0', 'provider_unavailable'],
    ['filtered', 'validation_failed'],
  ])('meets "%s" before the first byte as %s', async (directive, code) => {
    const error = await providerErrorOf(speech.speak(wish(`${TEXT}[[mock: ${directive}]]`), providerCall()));
    expect(error.code).toBe(code);
  });

  it.each([
    ['reset_after=2', 'stream_interrupted', 2],
    ['error_after=1', 'stream_interrupted', 1],
    ['reset_after=90', 'stream_interrupted', 5],
    ['no_finish', 'provider_disconnect', 5],
  ])('breaks off by "%s" with %s after %d pieces', async (directive, code, pieces) => {
    const sink = new CollectingSink();
    const stream = await speech.speak(wish(`${TEXT}[[mock: chunks=5 ${directive}]]`), providerCall());
    const error = await providerErrorOf(stream.pipe(sink));
    expect(error).toMatchObject({ code, options: { phase: 'stream' } });
    expect(sink.writes).toHaveLength(pieces);
    expect(stream.progress).toEqual({ audioBytes: sink.output.length, usage: null });
  });

  it('takes its time between two pieces, and no longer than the provider may be silent', async () => {
    const { deadlines } = providerCall();
    const call = providerCall({ deadlines: { ...deadlines, idleMs: 20 } });
    const sink = new CollectingSink();
    const stream = await speech.speak(wish(`${TEXT}[[mock: delay=10s]]`, { format: 'mp3' }), call);
    expect((await providerErrorOf(stream.pipe(sink))).code).toBe('stream_interrupted');
    expect(sink.writes).toHaveLength(1);
  });

  it('ends when nobody listens any more', async () => {
    const leaving = new AbortController();
    const sink = new CollectingSink();
    const call = providerCall({ signal: leaving.signal });
    const stream = await speech.speak(wish(`${TEXT}[[mock: delay=4s]]`, { format: 'mp3' }), call);
    const piped = providerErrorOf(stream.pipe(sink));
    leaving.abort();
    expect((await piped).code).toBe('provider_disconnect');
    expect(sink.writes).toHaveLength(1);
  });
});
