import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { systemClock } from '../../../core/time/clock';
import type { SpeechRequest } from '../../contract/speech';
import { MockSpeech } from './mock-speech';

const speech = new MockSpeech(systemClock);
const TEXT = 'Hello there, this is the mock speaking.';

function requestFor(input: string, fields: Partial<SpeechRequest> = {}): SpeechRequest {
  return { input, voice: 'alloy', format: 'pcm', speed: null, instructions: null, ...fields };
}

async function speak(input: string, fields: Partial<SpeechRequest> = {}) {
  const sink = new CollectingSink();
  const stream = await speech.speak(requestFor(input, fields), providerCall());
  await stream.pipe(sink);
  return { sink, stream };
}

describe('MockSpeech', () => {
  it.each(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const)('speaks %s and counts its bytes', async (format) => {
    const { sink, stream } = await speak(TEXT, { format });
    expect(sink.output.length).toBeGreaterThan(1_000);
    expect(stream.progress).toEqual({ audioBytes: sink.output.length, usage: null });
  });

  it('never speaks a directive', async () => {
    const plain = await speak(TEXT);
    const scripted = await speak(`${TEXT}[[mock: chunks=3]]`);
    expect(Math.abs(scripted.sink.output.length - plain.sink.output.length)).toBeLessThan(10);
  });

  it('returns audio for a text that is only a directive', async () => {
    const { sink } = await speak('[[mock: delay=0]]', { format: 'mp3' });
    expect(sink.output.length).toBeGreaterThan(0);
  });

  it('sends the scripted number of pieces', async () => {
    const { sink } = await speak(`${TEXT}[[mock: chunks=7]]`);
    expect(sink.writes).toHaveLength(7);
  });

  it('reports tokens only if scripted', async () => {
    const { stream } = await speak(`${TEXT}[[mock: usage_prompt=3 usage_completion=50]]`);
    expect(stream.progress.usage).toMatchObject({ inputText: 3, outputAudio: 50, characters: 0 });
  });

  it('waits for a slow receiver before it continues', async () => {
    const sink = new CollectingSink();
    let release: () => void = () => undefined;
    jest.spyOn(sink, 'drained').mockImplementation(() => new Promise((resolve) => (release = resolve)));
    const write = jest.spyOn(CollectingSink.prototype, 'write').mockReturnValueOnce(false);
    const stream = await speech.speak(requestFor(`${TEXT}[[mock: chunks=4]]`), providerCall());
    const piped = stream.pipe(sink);
    for (let round = 0; round < 20; round++) await new Promise<void>((resolve) => setImmediate(resolve));
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
  ])('maps "%s" before the first byte to %s', async (directive, code) => {
    const error = await providerErrorOf(speech.speak(requestFor(`${TEXT}[[mock: ${directive}]]`), providerCall()));
    expect(error.code).toBe(code);
  });

  it.each([
    ['reset_after=2', 'stream_interrupted', 2],
    ['error_after=1', 'stream_interrupted', 1],
    ['reset_after=90', 'stream_interrupted', 5],
    ['no_finish', 'provider_disconnect', 5],
  ])('fails on "%s" with %s after %d pieces', async (directive, code, pieces) => {
    const sink = new CollectingSink();
    const stream = await speech.speak(requestFor(`${TEXT}[[mock: chunks=5 ${directive}]]`), providerCall());
    const error = await providerErrorOf(stream.pipe(sink));
    expect(error).toMatchObject({ code, options: { phase: 'stream' } });
    expect(sink.writes).toHaveLength(pieces);
    expect(stream.progress).toEqual({ audioBytes: sink.output.length, usage: null });
  });

  it('waits between two pieces, up to the idle limit', async () => {
    const { deadlines } = providerCall();
    const call = providerCall({ deadlines: { ...deadlines, idleMs: 20 } });
    const sink = new CollectingSink();
    const stream = await speech.speak(requestFor(`${TEXT}[[mock: delay=10s]]`, { format: 'mp3' }), call);
    expect((await providerErrorOf(stream.pipe(sink))).code).toBe('stream_interrupted');
    expect(sink.writes).toHaveLength(1);
  });

  it('ends when the call is aborted', async () => {
    const leaving = new AbortController();
    const sink = new CollectingSink();
    const call = providerCall({ signal: leaving.signal });
    const stream = await speech.speak(requestFor(`${TEXT}[[mock: delay=4s]]`, { format: 'mp3' }), call);
    const piped = providerErrorOf(stream.pipe(sink));
    leaving.abort();
    expect((await piped).code).toBe('provider_disconnect');
    expect(sink.writes).toHaveLength(1);
  });
});
