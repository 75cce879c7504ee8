import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { systemClock } from '../../../core/time/clock';
import type { TranscriptionRequest } from '../../contract/transcription';
import { type AudioFormat, makeAudio, SPEECH_RATE } from './media/audio';
import { MockTranscription } from './mock-transcription';

const transcription = new MockTranscription(systemClock);
const TEXT = 'Der Mock spricht. Größe, İstanbul! Und so weiter…';

const SECONDS = TEXT.length / 14;

function record(format: AudioFormat, transcript = TEXT, seconds = SECONDS): Promise<Buffer> {
  return makeAudio({ kind: 'speech', format, seconds, sampleRate: SPEECH_RATE, seed: 1, transcript });
}

let wav: Buffer;
let silent: Buffer;
beforeAll(async () => {
  wav = await record('wav');
  silent = await record('wav', '');
});

function requestFor(audio: Buffer, fields: Partial<TranscriptionRequest> = {}): TranscriptionRequest {
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
  transcription.transcribe(requestFor(audio, fields), call);

describe('MockTranscription', () => {
  it.each<AudioFormat>(['wav', 'mp3', 'aac', 'flac', 'opus'])('transcribes the mock speech as %s', async (format) => {
    const { text, usage } = await write(await record(format));
    expect(text).toBe(TEXT);
    expect(usage).toBeNull();
  });

  it('describes the type and length of another file', async () => {
    const { text } = await write(silent, { contentType: 'audio/wav' });
    expect(text).toMatch(/^This is a recording of 3\.5 seconds\. It came as WAV in \d+ bytes\./);
    const mp3 = await record('mp3', '');
    expect((await write(mp3, { contentType: 'audio/mpeg' })).text).toMatch(/of 3\.[56] seconds\. It came as MPEG/);
  });

  it('ignores a comment that another program has written', async () => {
    const other = Buffer.from(wav);
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

  it.each([
    [null, 'english'],
    ['de', 'german'],
    ['tr', 'turkish'],
    ['not a language', 'not a language'],
  ])('names the language %s as Whisper does', async (language, name) => {
    expect((await write(wav, { language })).language).toBe(name);
  });

  it('returns timestamps only when requested', async () => {
    expect(await write(wav)).toMatchObject({ segments: null, words: null });
    expect(await write(wav, { timestamps: ['word'] })).toMatchObject({ segments: null, words: expect.any(Array) });
  });

  it('spreads segments and words over the length of the recording, in order and without gaps', async () => {
    const { segments, words } = await write(wav, { timestamps: ['segment', 'word'], temperature: 0.3 });
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
      expect(pieces.at(-1)?.end).toBeCloseTo(TEXT.length / 14, 1);
      for (const [at, { start, end }] of pieces.entries()) {
        expect(end).toBeGreaterThan(start);
        expect(start).toBe(pieces[at - 1]?.end ?? 0);
      }
    }
    expect(segments?.[0]).toMatchObject({ id: 0, temperature: 0.3, tokens: expect.any(Array) });
  });

  it('streams the same text, token by token', async () => {
    const sink = new CollectingSink();
    const stream = await transcription.openStream(requestFor(wav, { prompt: '[[mock: delay=0]]' }), providerCall());
    await stream.pipe(sink);
    const deltas = sink.chunks.map((event) => event['delta']);
    expect(new Set(sink.chunks.map((event) => event['type']))).toEqual(new Set(['transcript.text.delta']));
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.join('')).toBe(TEXT);
    expect(stream.progress).toEqual({
      outputBytes: Buffer.byteLength(TEXT),
      text: TEXT,
      usage: null,
      reportedSeconds: null,
    });
  });
});

describe('scripts for transcription', () => {
  it('returns the scripted transcript', async () => {
    const said = await write(wav, { prompt: '[[mock: say usage_prompt=20 usage_completion=4]] Buy two lamps.' });
    expect(said).toMatchObject({ text: 'Buy two lamps.', usage: { inputAudio: 20, outputText: 4, seconds: 0 } });
  });

  it('treats any other prompt as a hint', async () => {
    expect((await write(wav, { prompt: 'İstanbul, lamps' })).text).toBe(TEXT);
  });

  it.each([
    ['status=413', 'validation_failed'],
    ['status=503', 'provider_unavailable'],
    ['reset_after=3', 'provider_disconnect'],
    ['unknown', 'validation_failed'],
  ])('maps "%s" to %s', async (directive, code) => {
    const error = await providerErrorOf(write(wav, { prompt: `[[mock: ${directive}]]` }));
    expect(error.code).toBe(code);
  });

  it.each([
    ['reset_after=2', 'stream_interrupted', 2],
    ['no_finish', 'provider_disconnect', 12],
  ])('interrupts a stream on "%s" with %s', async (directive, code, tokens) => {
    const sink = new CollectingSink();
    const stream = await transcription.openStream(
      requestFor(wav, { prompt: `[[mock: delay=0 ${directive}]]` }),
      providerCall(),
    );
    const error = await providerErrorOf(stream.pipe(sink));
    expect(error).toMatchObject({ code, options: { phase: 'stream' } });
    expect(sink.chunks).toHaveLength(tokens);
    expect(stream.progress.text).toBe(sink.chunks.map((event) => event['delta']).join(''));
  });

  it('fails before the first token with a scripted status', async () => {
    const request = requestFor(wav, { prompt: '[[mock: status=429 retry_after=3]]' });
    expect(await providerErrorOf(transcription.openStream(request, providerCall()))).toMatchObject({
      code: 'provider_rate_limited',
      options: { retryAfterSeconds: 3 },
    });
  });
});
