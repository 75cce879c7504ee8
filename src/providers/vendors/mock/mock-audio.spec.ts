import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { systemClock } from '../../../core/time/clock';
import type { SpeechRequest } from '../../contract/speech';
import type { TranscriptionRequest } from '../../contract/transcription';
import { type AudioFormat, makeAudio, SPEECH_RATE } from './media-files';
import { MockSpeech, MockTranscription } from './mock-audio';

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
    expect(sink.writes).toHaveLength(0);
  });

  it('ends when the call is aborted', async () => {
    const leaving = new AbortController();
    const sink = new CollectingSink();
    const call = providerCall({ signal: leaving.signal });
    const stream = await speech.speak(requestFor(`${TEXT}[[mock: delay=4s]]`, { format: 'mp3' }), call);
    const piped = providerErrorOf(stream.pipe(sink));
    leaving.abort();
    expect((await piped).code).toBe('provider_disconnect');
    expect(sink.writes).toHaveLength(0);
  });
});

const transcription = new MockTranscription(systemClock);
const SAID = 'Der Mock spricht. Größe, İstanbul! Und so weiter…';

const SECONDS = SAID.length / 14;

function record(format: AudioFormat, transcript = SAID, seconds = SECONDS): Promise<Buffer> {
  return makeAudio({ kind: 'speech', format, seconds, sampleRate: SPEECH_RATE, seed: 1, transcript });
}

let mp3: Buffer;
beforeAll(async () => {
  mp3 = await record('mp3');
});

function listenTo(audio: Buffer, fields: Partial<TranscriptionRequest> = {}): TranscriptionRequest {
  return {
    audio,
    contentType: 'audio/wav',
    fileName: 'audio.wav',
    language: null,
    prompt: null,
    temperature: null,
    timestamps: [],
    ...fields,
  };
}

const write = (audio: Buffer, fields: Partial<TranscriptionRequest> = {}, call = providerCall()) =>
  transcription.transcribe(listenTo(audio, fields), call);

describe('MockTranscription', () => {
  it.each<AudioFormat>(['mp3', 'aac', 'flac', 'opus'])('transcribes the mock speech as %s', async (format) => {
    const { text, usage } = await write(await record(format));
    expect(text).toBe(SAID);
    expect(usage).toBeNull();
  });

  it('describes the type and length of another file', async () => {
    const { text } = await write(await record('wav'), { contentType: 'audio/wav' });
    expect(text).toMatch(/^This is a recording of 3\.5 seconds\. It came as WAV in \d+ bytes\./);
    const silent = await record('mp3', '');
    expect((await write(silent, { contentType: 'audio/mpeg' })).text).toMatch(/of 3\.[56] seconds\. It came as MPEG/);
  });

  it('ignores a comment that another program has written', async () => {
    const other = Buffer.from(mp3);
    other.write('pock', other.indexOf('mock: '));
    expect((await write(other)).text).toContain('This is a recording');
  });

  it.each<[AudioFormat, number]>([
    ['wav', 60],
    ['mp3', 240],
  ])('reads the duration of a long %s from its beginning', async (format, seconds) => {
    const audio = await record(format, '', seconds);
    expect(audio.length).toBeGreaterThan(1_048_576);
    const { segments } = await write(audio, { timestamps: ['segment'] });
    expect(Math.abs((segments?.at(-1)?.end ?? 0) - seconds)).toBeLessThan(0.05 * seconds);
  });

  it('accepts bytes that are not a recording', async () => {
    expect((await write(Buffer.alloc(16_000))).text).toContain('This is a recording of 2.0 seconds.');
  });

  it('returns timestamps only when requested', async () => {
    expect(await write(mp3)).toMatchObject({ segments: null, words: null });
    expect(await write(mp3, { timestamps: ['word'] })).toMatchObject({ segments: null, words: expect.any(Array) });
  });

  it('spreads segments and words over the length of the recording, in order and without gaps', async () => {
    const { segments, words } = await write(mp3, { timestamps: ['segment', 'word'], temperature: 0.3 });
    expect(segments?.map(({ text }) => text)).toEqual([' Der Mock spricht.', ' Größe, İstanbul!', ' Und so weiter…']);
    expect(words?.map(({ word }) => word)).toEqual([
      'Der',
      'Mock',
      'spricht',
      'Größe',
      'İstanbul',
      'Und',
      'so',
      'weiter',
    ]);
    for (const pieces of [segments ?? [], words ?? []]) {
      expect(pieces[0]?.start).toBe(0);
      expect(pieces.at(-1)?.end).toBeCloseTo(SAID.length / 14, 1);
      for (const [at, { start, end }] of pieces.entries()) {
        expect(end).toBeGreaterThan(start);
        expect(start).toBe(pieces[at - 1]?.end ?? 0);
      }
    }
    expect(segments?.[0]).toMatchObject({ id: 0, temperature: 0.3, tokens: expect.any(Array) });
  });

  it('streams the same text, token by token', async () => {
    const sink = new CollectingSink();
    const stream = await transcription.openStream(listenTo(mp3, { prompt: '[[mock: delay=0]]' }), providerCall());
    await stream.pipe(sink);
    const deltas = sink.chunks.map((event) => event['delta']);
    expect(new Set(sink.chunks.map((event) => event['type']))).toEqual(new Set(['transcript.text.delta']));
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.join('')).toBe(SAID);
    expect(stream.progress).toEqual({
      outputBytes: Buffer.byteLength(SAID),
      text: SAID,
      usage: null,
      reportedSeconds: null,
    });
  });
});

describe('scripts for transcription', () => {
  it('treats any other prompt as a hint', async () => {
    expect((await write(mp3, { prompt: 'İstanbul, lamps' })).text).toBe(SAID);
  });

  it.each([
    ['status=413', 'validation_failed'],
    ['status=503', 'provider_unavailable'],
    ['reset_after=3', 'provider_disconnect'],
    ['unknown', 'validation_failed'],
  ])('maps "%s" to %s', async (directive, code) => {
    const error = await providerErrorOf(write(mp3, { prompt: `[[mock: ${directive}]]` }));
    expect(error.code).toBe(code);
  });

  it.each([
    ['reset_after=2', 'stream_interrupted', 2],
    ['no_finish', 'provider_disconnect', 12],
  ])('interrupts a stream on "%s" with %s', async (directive, code, tokens) => {
    const sink = new CollectingSink();
    const stream = await transcription.openStream(
      listenTo(mp3, { prompt: `[[mock: delay=0 ${directive}]]` }),
      providerCall(),
    );
    const error = await providerErrorOf(stream.pipe(sink));
    expect(error).toMatchObject({ code, options: { phase: 'stream' } });
    expect(sink.chunks).toHaveLength(tokens);
    expect(stream.progress.text).toBe(sink.chunks.map((event) => event['delta']).join(''));
  });

  it('fails before the first token with a scripted status', async () => {
    const request = listenTo(mp3, { prompt: '[[mock: status=429 retry_after=3]]' });
    expect(await providerErrorOf(transcription.openStream(request, providerCall()))).toMatchObject({
      code: 'provider_rate_limited',
      options: { retryAfterSeconds: 3 },
    });
  });
});
