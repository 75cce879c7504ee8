import { type Answer, FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { disconnect, fault, json, script } from '../../../../test/conformance/media-answers';
import { transcriptionRequest } from '../../../../test/conformance/media-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { Provider } from '../../contract/provider';
import { AssemblyAiProvider } from './assemblyai.module';

describe('AssemblyAiTranscription', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const environment = { ASSEMBLYAI_API_KEY: 'key', ASSEMBLYAI_BASE_URL: `${upstream.origin}/v2` };
    provider = new AssemblyAiProvider().create(environment) as Provider;
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  const uploaded = json({ upload_url: 'https://cdn.assemblyai.com/upload/1' });
  const created = json({ id: 't-1', status: 'queued' });
  const transcribe = (overrides = {}) =>
    provider.transcription?.transcribe(transcriptionRequest(overrides), providerCall()) as Promise<unknown>;
  const creations = () => upstream.received.filter(({ url }) => url === '/v2/transcript');

  it('uploads the file, creates one transcript and waits for it through failing polls', async () => {
    upstream.answer = script(
      uploaded,
      created,
      json({ status: 'processing' }),
      fault(500),
      json({ status: 'completed', text: 'Hallo' }),
    );
    await expect(transcribe({ language: 'de' })).resolves.toMatchObject({ text: 'Hallo', segments: null, words: null });
    expect(upstream.received[0]?.bytes).toEqual(transcriptionRequest().audio);
    expect(creations().map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        audio_url: 'https://cdn.assemblyai.com/upload/1',
        speech_models: ['upstream-model'],
        language_code: 'de',
      },
    ]);
  });

  it.each([
    [['你', '好', '，', '世', '界', '。'], '你好，世界。'],
    [['これ', 'は', 'テ', 'スト', 'です'], 'これはテストです'],
    [['用', 'Kafka', '3', '吧'], '用 Kafka 3 吧'],
    [['안녕', '세상'], '안녕 세상'],
    [['Guten', 'Tag.'], 'Guten Tag.'],
  ])('writes segments as the language does: %j', async (texts, segment) => {
    const words = texts.map((text, at) => ({ text, start: 100 * at, end: 100 * at + 90 }));
    upstream.answer = script(uploaded, created, json({ status: 'completed', text: segment, words }));
    await expect(transcribe({ timestamps: ['segment'] })).resolves.toMatchObject({ segments: [{ text: segment }] });
  });

  it('creates no second transcript when the response to the first is lost', async () => {
    upstream.answer = script(uploaded, disconnect);
    const { options } = await providerErrorOf(transcribe());
    expect([options.outcomeUnknown, creations().length]).toEqual([true, 1]);
  });

  it('blames the file if it contains no audio', async () => {
    const error = 'Transcoding failed. File does not appear to contain audio.';
    upstream.answer = script(uploaded, created, json({ status: 'error', error }));
    const { code, options } = await providerErrorOf(transcribe());
    expect([code, options.param, options.details?.['provider_message']]).toEqual(['validation_failed', 'file', error]);
  });

  it('asks for an empty transcript of silence, in which there is no language to detect', async () => {
    upstream.answer = script(uploaded, created, json({ status: 'completed', text: '', words: [] }));
    const silence = { text: '', segments: [], words: [] };
    await expect(transcribe({ timestamps: ['segment', 'word'] })).resolves.toMatchObject(silence);
    expect(creations().map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        audio_url: 'https://cdn.assemblyai.com/upload/1',
        speech_models: ['upstream-model'],
        language_detection: true,
        language_detection_options: { on_no_speech_detected: 'fallback' },
      },
    ]);
  });

  const refused = (status: number) => json({ error: 'Invalid value.' }, status);
  it.each([
    ['an upload', 422, [refused(422)], {}, ['validation_failed', 'file']],
    ['a language', 400, [uploaded, refused(400)], { language: 'xx' }, ['validation_failed', 'language']],
    ['a request without a language', 400, [uploaded, refused(400)], {}, ['provider_error', undefined]],
    ['a language', 401, [uploaded, refused(401)], { language: 'de' }, ['provider_error', undefined]],
  ] as const)(
    'blames the client for what it wrote: %s answered with %d',
    async (_what, _status, answers, fields, expected) => {
      upstream.answer = script(...(answers as readonly [Answer, ...Answer[]]));
      const { code, options } = await providerErrorOf(transcribe(fields));
      expect([code, options.param]).toEqual(expected);
    },
  );

  it.each([
    ['at the upload', (broke: Answer) => script(broke)],
    ['at the creation', (broke: Answer) => script(uploaded, broke)],
  ])('does not blame the client for an account without credit: %s', async (_when, answers) => {
    const error = 'Your current account balance is negative. Please top up to continue using the API.';
    upstream.answer = answers(json({ error }, 400));
    const { code, options } = await providerErrorOf(transcribe({ language: 'de' }));
    expect([code, options.outOfCredit]).toEqual(['provider_error', true]);
  });

  it.each([{ prompt: 'names' }, { temperature: 0.5 }])('refuses %p before the upload', async (option) => {
    const { options } = await providerErrorOf(transcribe(option));
    expect([options.param, upstream.received.length]).toEqual([Object.keys(option)[0], 0]);
  });
});
