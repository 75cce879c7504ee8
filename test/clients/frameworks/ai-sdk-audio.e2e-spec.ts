import { generateSpeech, transcribe } from 'ai';
import { AudioProbe } from '../../../src/core/media/media-probes';
import type { TestCustomer, TestGateway } from '../../harness/gateway';
import { RelayedGateway } from '../relayed-gateway';
import { recordsOf } from '../traces';
import { openaiProvider, silenceWarnings } from './ai-sdk';

const TEXT = 'The cat sat on the mat, and then it slept.';

const probe = new AudioProbe();
let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  silenceWarnings();
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(async () => {
  await probe.onModuleDestroy();
  await gateways.stop();
});

describe.each(['mock', 'relay'])('%s', (vendor) => {
  it('creates speech and transcribes it, each charged once', async () => {
    const provider = openaiProvider(gateway, customer);
    const { audio } = await generateSpeech({ model: provider.speech(`${vendor}/speech-1`), text: TEXT, voice: 'echo' });
    expect(audio).toMatchObject({ mediaType: 'audio/mpeg', format: 'mp3' });
    const { durationSeconds } = await probe.probe(Buffer.from(audio.uint8Array), 'file', 'organization');
    expect(durationSeconds).toBeGreaterThan(2);

    const model = provider.transcription(`${vendor}/transcribe-1`);
    const transcript = await transcribe({
      model,
      audio: audio.uint8Array,
      providerOptions: { openai: { responseFormat: 'verbose_json', timestampGranularities: ['segment', 'word'] } },
    });
    expect(transcript).toMatchObject({ text: TEXT, language: 'en', durationInSeconds: durationSeconds });
    expect(transcript.segments.length).toBeGreaterThan(0);
    expect(await recordsOf(gateway, customer)).toMatchObject([
      { status: 200, charged_micro: String(Math.ceil(TEXT.length * 1.5)) },
      { status: 200, charged_micro: String(Math.ceil(durationSeconds) * 10) },
    ]);
  });

  it('transcribes to plain text', async () => {
    const provider = openaiProvider(gateway, customer);
    const speech = { model: provider.speech(`${vendor}/speech-1`), text: TEXT, voice: 'echo' };
    const { audio } = await generateSpeech(speech);
    const transcript = await transcribe({
      model: provider.transcription(`${vendor}/transcribe-1`),
      audio: audio.uint8Array,
    });
    expect(transcript.text).toBe(TEXT);
  });
});

it('leaves a valid ledger', async () => {
  expect(await gateways.violations()).toEqual([]);
});
