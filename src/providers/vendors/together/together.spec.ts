import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { json, speech } from '../../../../test/conformance/media-answers';
import { speechRequest, transcriptionRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { Provider } from '../../contract/provider';
import type { SpeechRequest } from '../../contract/speech';
import type { TranscriptionRequest } from '../../contract/transcription';
import { TogetherProvider } from './together.module';

const SAMPLES = Buffer.alloc(48_000);

let upstream: FakeUpstream;
let provider: Provider;
beforeEach(async () => {
  upstream = await FakeUpstream.start();
  const environment = { TOGETHER_API_KEY: 'key', TOGETHER_BASE_URL: `${upstream.origin}/v1` };
  provider = new TogetherProvider().create(environment) as Provider;
});
afterEach(async () => {
  await provider.close();
  await upstream.stop();
});

describe('speech of Together', () => {
  async function speak(overrides: Partial<SpeechRequest>): Promise<Buffer> {
    const stream = await provider.speech?.speak(speechRequest(overrides), providerCall());
    const sink = new CollectingSink();
    await stream?.pipe(sink);
    return sink.output;
  }
  const sent = () => JSON.parse(upstream.received[0]?.body ?? '') as unknown;
  const base = { model: 'upstream-model', input: 'Hello there.', voice: 'tara' };
  const samples = { response_format: 'raw', response_encoding: 'pcm_s16le', sample_rate: 24_000 };

  it('asks for the PCM of the contract, which is not the default', async () => {
    upstream.answer = speech(SAMPLES, 'audio/pcm');
    expect(await speak({ voice: 'tara', format: 'pcm' })).toEqual(SAMPLES);
    expect(sent()).toEqual({ ...base, ...samples });
  });

  it.each(['mp3', 'wav'] as const)('asks for %s by its name', async (format) => {
    upstream.answer = speech(format === 'mp3' ? 'ID3 sound' : Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'));
    await speak({ voice: 'tara', format, speed: 1 });
    expect(sent()).toEqual({ ...base, response_format: format });
  });

  it.each([
    ['opus', 'OggS'],
    ['flac', 'fLaC'],
  ] as const)('is encoded as %s, which Together does not have', async (format, head) => {
    upstream.answer = speech(SAMPLES, 'audio/pcm');
    expect((await speak({ voice: 'tara', format })).toString('latin1')).toMatch(new RegExp(`^${head}`));
    expect(sent()).toEqual({ ...base, ...samples });
  });

  it.each([
    ['speed', { speed: 1.5 }],
    ['instructions', { instructions: 'Whisper.' }],
  ] as const)('refuses %s before the call', async (param, option) => {
    const { options } = await providerErrorOf(speak(option));
    expect([options.param, options.phase, upstream.received.length]).toEqual([param, 'connect', 0]);
  });
});

describe('transcription by Together', () => {
  const languageSent = async (overrides: Partial<TranscriptionRequest>) => {
    upstream.answer = json({ text: 'Hallo' });
    await provider.transcription?.transcribe(transcriptionRequest(overrides), providerCall());
    return /name="language"\r\n\r\n([^\r]*)/.exec(upstream.received[0]?.body ?? '')?.[1];
  };

  it('detects the language, which is English by default', async () => {
    expect(await languageSent({})).toBe('auto');
  });

  it('takes the language of the request', async () => {
    expect(await languageSent({ language: 'de' })).toBe('de');
  });

  it('is not streamed', () => {
    expect(provider.transcription?.openStream).toBeUndefined();
  });
});
