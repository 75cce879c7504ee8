import { formOf, speech } from '../../../../test/conformance/media-answers';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { speechRequest, transcriptionRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { Provider } from '../../contract/provider';
import type { SpeechFormat } from '../../contract/speech';
import { ElevenLabsProvider } from './elevenlabs.module';
import { toSpeechBody } from './elevenlabs-speech';

describe('ElevenLabs', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const created = new ElevenLabsProvider().create({
      ELEVENLABS_API_KEY: 'test',
      ELEVENLABS_BASE_URL: `${upstream.origin}/v1`,
    });
    provider = created as Provider;
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });

  async function speak(format: SpeechFormat, sound: string): Promise<Buffer> {
    upstream.answer = speech(sound, 'application/octet-stream');
    const stream = await provider.speech?.speak(speechRequest({ format, voice: 'a/b?c' }), providerCall());
    const sink = new CollectingSink();
    await stream?.pipe(sink);
    return sink.output;
  }

  it.each<[SpeechFormat, string, string]>([
    ['mp3', 'mp3_44100_128', 'ID3'],
    ['opus', 'opus_48000_64', 'OggS'],
    ['pcm', 'pcm_24000', '\0\0'],
  ])('passes %s on, and a voice cannot change the path', async (format, name, sound) => {
    expect((await speak(format, sound)).toString()).toBe(sound);
    expect(upstream.received[0]?.url).toBe(`/v1/text-to-speech/a%2Fb%3Fc/stream?output_format=${name}`);
  });

  it('puts samples into a WAV file, and counts its header', async () => {
    const file = await speak('wav', 'samples!');
    expect(upstream.received[0]?.url).toContain('output_format=pcm_24000');
    expect([file.toString('latin1', 0, 4), file.toString('latin1', 8, 16)]).toEqual(['RIFF', 'WAVEfmt ']);
    expect([file.readUInt16LE(22), file.readUInt32LE(24), file.readUInt16LE(34)]).toEqual([1, 24_000, 16]);
    expect(file.subarray(44).toString()).toBe('samples!');
  });

  it('blames the request for a voice that the account does not have', async () => {
    upstream.answer = (response) =>
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"detail":{"status":"voice_not_found","message":"A voice with the voice_id foo was not found."}}');
    const refused = provider.speech?.speak(speechRequest({ voice: 'foo' }), providerCall());
    const { code, options } = await providerErrorOf(Promise.resolve(refused));
    expect([code, options.param, options.fallback]).toEqual(['validation_failed', 'voice', false]);
  });

  it('asks for timestamps only if they are requested', async () => {
    upstream.answer = (response) => response.end('{"text":"Hello"}');
    const request = transcriptionRequest({ language: 'de', temperature: 0.5 });
    await provider.transcription?.transcribe(request, providerCall());
    const form = await formOf(upstream.received[0]);
    expect([form.get('timestamps_granularity'), form.get('language_code'), form.get('temperature')]).toEqual([
      'none',
      'de',
      '0.5',
    ]);
    expect(Buffer.from(await (form.get('file') as File).arrayBuffer())).toEqual(request.audio);
  });
});

describe('toSpeechBody', () => {
  it('sends a speed that the model supports', () => {
    expect(toSpeechBody(speechRequest({ speed: 1.2 }), providerCall())).toEqual({
      text: 'Hello there.',
      model_id: 'upstream-model',
      voice_settings: { speed: 1.2 },
    });
    expect(() => toSpeechBody(speechRequest({ speed: 2 }), providerCall())).toThrow('a speed from 0.7 to 1.2');
  });
});
