import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { json } from '../../../../test/conformance/media-answers';
import { transcriptionRequest } from '../../../../test/conformance/media-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { Provider } from '../../contract/provider';
import type { TranscriptionRequest } from '../../contract/transcription';
import { MistralProvider } from './mistral.module';

describe('MistralTranscription', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    upstream.answer = json({ text: 'Hallo', language: null, segments: [{ text: 'Hallo', start: 0, end: 1 }] });
    const environment = { MISTRAL_API_KEY: 'key', MISTRAL_BASE_URL: `${upstream.origin}/v1` };
    provider = new MistralProvider().create(environment) as Provider;
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  const transcribe = (overrides: Partial<TranscriptionRequest> = {}) =>
    provider.transcription?.transcribe(transcriptionRequest(overrides), providerCall()) ?? Promise.reject();
  const fieldsSent = () => {
    const body = upstream.received[0]?.body ?? '';
    return [...body.matchAll(/name="(\w+)"\r\n\r\n([^\r]*)/g)].map(([, name, value]) => [name, value]);
  };

  it('sends the language, and reports it as the language of the transcript', async () => {
    await expect(transcribe({ language: 'de', temperature: 0.2 })).resolves.toMatchObject({
      text: 'Hallo',
      language: 'de',
      segments: null,
    });
    expect(fieldsSent()).toEqual([
      ['model', 'upstream-model'],
      ['language', 'de'],
      ['temperature', '0.2'],
    ]);
  });

  it('asks for timestamps without the language, which some models refuse together', async () => {
    await transcribe({ language: 'de', timestamps: ['segment'] });
    expect(fieldsSent()).toEqual([
      ['model', 'upstream-model'],
      ['timestamp_granularities', 'segment'],
    ]);
  });

  it.each([
    ['timestamp_granularities', { timestamps: ['word'] }],
    ['prompt', { prompt: 'names' }],
  ] as const)('refuses %s that it cannot serve before anything is sent', async (param, fields) => {
    const { options } = await providerErrorOf(transcribe(fields));
    expect([options.param, options.phase, upstream.received]).toEqual([param, 'connect', []]);
  });
});
