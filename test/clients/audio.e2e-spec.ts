import type OpenAI from 'openai';
import { AudioProbe } from '../../src/core/media/media-probes';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { RelayedGateway, SPEECH_MODELS, TRANSCRIPTION_MODELS } from './relayed-gateway';
import { recordsOf } from './traces';

type SpeechFormat = NonNullable<OpenAI.Audio.SpeechCreateParams['response_format']>;
type Transcription = OpenAI.Audio.Transcription & { usage: { seconds: number; x_llm_cost_micro: number } };

const TEXT = 'The cat sat on the mat, and then it slept.';
/** A second of raw audio: 24,000 samples of two bytes. */
const PCM_BYTES_PER_SECOND = 48_000;

const probe = new AudioProbe();
let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;
let recording: Buffer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
  customer = await gateway.customer();
  const body = { model: 'mock/speech-1', input: TEXT, voice: 'alloy' };
  recording = (await gateway.call('/v1/audio/speech', { key: customer.key, body })).bytes;
});
afterAll(async () => {
  await probe.onModuleDestroy();
  await gateways.stop();
});

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  let client: OpenAI;
  let payer: TestCustomer;
  beforeEach(async () => {
    payer = await gateway.customer();
    client = official.connect(gateway, payer.key);
  });

  describe.each(SPEECH_MODELS)('%s', (model) => {
    it.each<[SpeechFormat, string]>([
      ['mp3', 'audio/mpeg'],
      ['opus', 'audio/ogg'],
      ['aac', 'audio/aac'],
      ['flac', 'audio/flac'],
      ['wav', 'audio/wav'],
    ])('creates speech as a playable %s file of the expected duration', async (format, contentType) => {
      const answer = await client.audio.speech.create({ model, input: TEXT, voice: 'alloy', response_format: format });
      const found = await probe.probe(Buffer.from(await answer.arrayBuffer()), 'file', 'organization');
      expect(found.contentType).toBe(contentType === 'audio/aac' ? 'audio/mp4' : contentType);
      expect(found.durationSeconds).toBeGreaterThan(2);
      expect(found.durationSeconds).toBeLessThan(5);
    });

    it('creates raw samples, and fewer at a higher speed', async () => {
      const seconds = [1, 2].map(async (speed) => {
        const fields = { model, input: TEXT, voice: 'alloy', response_format: 'pcm', speed } as const;
        const answer = await client.audio.speech.create(fields);
        return (await answer.arrayBuffer()).byteLength / PCM_BYTES_PER_SECOND;
      });
      const [plain = 0, fast = 0] = await Promise.all(seconds);
      expect(plain).toBeGreaterThan(2);
      expect(fast).toBeLessThan(plain * 0.6);
    });

    it('is charged per character, with the cost in the headers', async () => {
      const answer = await client.audio.speech.create({ model, input: TEXT, voice: 'alloy' });
      expect(answer.headers.get('x-llm-cost-micro')).toBe(String(Math.ceil(TEXT.length * 1.5)));
      await answer.arrayBuffer();
      expect(await recordsOf(gateway, payer)).toMatchObject([
        { status: 200, charged_micro: String(TEXT.length * 1.5) },
      ]);
    });
  });

  it('gets an error that lists the available voices', async () => {
    const asked = client.audio.speech.create({ model: 'mock/speech-1', input: TEXT, voice: 'unknown' as 'alloy' });
    const error = await asked.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(official.sdk.BadRequestError);
    expect(error).toMatchObject({ status: 400, code: 'validation_failed', param: 'voice' });
  });

  describe.each(TRANSCRIPTION_MODELS)('%s', (model) => {
    const file = (): Promise<File> => official.sdk.toFile(recording, 'recording.mp3');

    it('transcribes a file', async () => {
      const transcript = (await client.audio.transcriptions.create({ model, file: await file() })) as Transcription;
      expect(transcript.text).toBe(TEXT);
      expect(transcript.usage.seconds).toBeGreaterThan(2);
      expect(transcript.usage.x_llm_cost_micro).toBe(Math.ceil(transcript.usage.seconds) * 10);
    });

    it('transcribes with segments and words', async () => {
      const transcript = await client.audio.transcriptions.create({
        model,
        file: await file(),
        response_format: 'verbose_json',
        timestamp_granularities: ['segment', 'word'],
      });
      expect(transcript.segments?.map(({ text }) => text.trim()).join(' ')).toBe(TEXT);
      expect(transcript.words?.length).toBe(TEXT.split(' ').length);
      expect(transcript.words?.at(-1)?.end).toBeLessThanOrEqual(Number(transcript.duration));
    });

    it.each<['text' | 'srt' | 'vtt', RegExp]>([
      ['text', /^The cat .* slept\.\n$/],
      ['srt', /^1\n00:00:00,000 --> 00:00:0\d,\d{3}\nThe cat/],
      ['vtt', /^WEBVTT\n\n00:00:00\.000 --> 00:00:0\d\.\d{3}\nThe cat/],
    ])('transcribes as %s', async (format, form) => {
      const transcript = await client.audio.transcriptions.create({
        model,
        file: await file(),
        response_format: format,
      });
      expect(transcript).toMatch(form);
    });

    it('transcribes as a stream', async () => {
      const events = await client.audio.transcriptions.create({ model, file: await file(), stream: true });
      let text = '';
      let done: unknown;
      for await (const event of events) {
        if (event.type === 'transcript.text.delta') text += event.delta;
        else done = event;
      }
      expect(text).toBe(TEXT);
      expect(done).toMatchObject({ type: 'transcript.text.done', text: TEXT, usage: { type: 'duration' } });
      expect(await recordsOf(gateway, payer)).toMatchObject([{ status: 200, streamed: true }]);
    });
  });
});

it('leaves a valid ledger', async () => {
  expect(await gateways.violations()).toEqual([]);
});
