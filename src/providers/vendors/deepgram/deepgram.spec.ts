import { speechRequest, transcriptionRequest } from '../../../../test/conformance/media-requests';
import { providerCall } from '../../../../test/conformance/provider-call';
import type { SpeechFormat, SpeechRequest } from '../../contract/speech';
import { toSpeakQuery } from './deepgram-speech';
import { fromListenReply, toListenQuery } from './deepgram-transcription';

describe('toSpeakQuery', () => {
  it.each<[SpeechFormat, object]>([
    ['mp3', { encoding: 'mp3' }],
    ['opus', { encoding: 'opus', container: 'ogg' }],
    ['aac', { encoding: 'aac' }],
    ['flac', { encoding: 'flac' }],
    ['wav', { encoding: 'linear16', container: 'wav', sample_rate: '24000' }],
    ['pcm', { encoding: 'linear16', container: 'none', sample_rate: '24000' }],
  ])('requests %s', (format, output) => {
    const request = speechRequest({ voice: 'thalia-en', format, speed: 1 });
    expect(toSpeakQuery(request, providerCall())).toEqual({ model: 'upstream-model-thalia-en', ...output });
  });

  it.each([
    ['thalia-en', 0.7, '0.7'],
    ['nestor-es', 1.5, '1.5'],
    ['viktoria-de', 1, undefined],
  ])('sends what voice %s can do: speed %d', (voice, speed, sent) => {
    expect(toSpeakQuery(speechRequest({ voice, speed }), providerCall())['speed']).toBe(sent);
  });

  it.each<Partial<SpeechRequest>>([
    { speed: 0.6 },
    { speed: 1.6 },
    { speed: 1.2, voice: 'viktoria-de' },
    { instructions: 'Whisper.' },
  ])('refuses %p before the call', (option) => {
    const [param] = Object.keys(option);
    expect(() => toSpeakQuery(speechRequest({ voice: 'thalia-en', ...option }), providerCall())).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        options: expect.objectContaining({ param, phase: 'connect' }),
      }),
    );
  });
});

describe('toListenQuery', () => {
  it('detects the language unless it is known', () => {
    const base = { model: 'upstream-model', smart_format: 'true' };
    expect(toListenQuery(transcriptionRequest(), providerCall())).toEqual({ ...base, detect_language: 'true' });
    const known = transcriptionRequest({ language: 'de', timestamps: ['word'], temperature: 0 });
    expect(toListenQuery(known, providerCall())).toEqual({ ...base, language: 'de' });
  });

  it.each([{ prompt: 'names' }, { temperature: 0.5 }])('refuses %p before the call', (option) => {
    const [param] = Object.keys(option);
    expect(() => toListenQuery(transcriptionRequest(option), providerCall())).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param, phase: 'connect' }) }),
    );
  });
});

describe('fromListenReply', () => {
  const reply = (best: object) => Buffer.from(JSON.stringify({ results: { channels: [{ alternatives: [best] }] } }));

  it('reads a transcript of silence without words or duration', () => {
    const silence = fromListenReply(reply({ transcript: '', words: [] }), { timestamps: ['segment', 'word'] });
    expect(silence).toMatchObject({ text: '', language: null, segments: [], words: [], reportedSeconds: null });
  });

  it('leaves out timestamps that were not requested', () => {
    const words = [{ word: 'hi', start: 0, end: 1 }];
    expect(fromListenReply(reply({ transcript: 'hi', words }), { timestamps: [] })).toMatchObject({
      text: 'hi',
      segments: null,
      words: null,
    });
  });
});
