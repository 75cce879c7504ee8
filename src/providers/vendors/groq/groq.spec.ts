import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { speechRequest } from '../../../../test/conformance/media-requests';
import { CollectingSink, providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { AudioProbe } from '../../../core/media/media-probes';
import type { Provider } from '../../contract/provider';
import type { SpeechFormat } from '../../contract/speech';
import { wavHeader } from '../../kit/wav-header';
import { GroqProvider } from './groq.module';

const SECONDS = 2;
const PCM_BYTES = SECONDS * 24_000 * 2;
const FILE = Buffer.concat([wavHeader(48_000), Buffer.alloc(SECONDS * 48_000 * 2)]);

describe('speech of Groq, whose only format is WAV', () => {
  const probe = new AudioProbe();
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const settings = { GROQ_API_KEY: 'test', GROQ_BASE_URL: `${upstream.origin}/openai/v1` };
    provider = new GroqProvider().create(settings) as Provider;
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  afterAll(() => probe.onModuleDestroy());

  async function speak(format: SpeechFormat, file: Buffer): Promise<Buffer> {
    upstream.answer = (response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end(file);
    const stream = await provider.speech?.speak(speechRequest({ format }), providerCall());
    const sink = new CollectingSink();
    await stream?.pipe(sink);
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toMatchObject({ response_format: 'wav' });
    expect(stream?.progress.audioBytes).toBe(sink.output.length);
    return sink.output;
  }

  it.each(['mp3', 'opus', 'aac', 'flac'] as const)('is encoded as %s with its whole duration', async (format) => {
    const { durationSeconds } = await probe.probe(await speak(format, FILE), 'file', 'organization');
    expect(Math.abs((durationSeconds ?? 0) - SECONDS)).toBeLessThan(0.1);
  });

  it('becomes the PCM of the contract, at half of its rate', async () => {
    expect(await speak('pcm', FILE)).toEqual(Buffer.alloc(PCM_BYTES));
  });

  it('is passed on as WAV', async () => {
    expect(await speak('wav', FILE)).toEqual(FILE);
  });

  it('is refused before the first byte if it is in another format, and interrupted if it cannot be read', async () => {
    expect((await providerErrorOf(speak('mp3', Buffer.from('OggS')))).options.phase).toBe('first_token');
    const { code, options } = await providerErrorOf(speak('mp3', Buffer.from('RIFF\0\0\0\0WAVEno format')));
    expect([code, options.phase, options.fallback]).toEqual(['provider_error', 'stream', false]);
  });

  it('is interrupted while it arrives if it cannot be read, and its connection is closed', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    upstream.answer = (response) => {
      response.on('close', resolve).writeHead(200, { 'content-type': 'audio/wav' }).write(Buffer.alloc(65_536));
    };
    const stream = await provider.speech?.speak(speechRequest({ format: 'mp3' }), providerCall());
    const { code } = await providerErrorOf(stream?.pipe(new CollectingSink()) ?? Promise.resolve());
    expect(code).toBe('provider_error');
    await closed;
  });
});
