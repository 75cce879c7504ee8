import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { musicSpec, videoSpec } from '../../../../test/conformance/job-requests';
import { json } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { AsyncJobAdapter } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import type { RequestMapping } from '../../contract/request-mapping';
import { ReplicateProvider } from '../../vendors/replicate/replicate.module';

const MAPPING: RequestMapping = {
  map: { prompt: 'prompt', duration_seconds: 'duration' },
  output: { video: '$', audio: '$.audio', image: '$[*]' },
};
const VERSION = 'a'.repeat(64);

let server: FakeUpstream;
let provider: Provider;
beforeEach(async () => {
  server = await FakeUpstream.start();
  const created = new ReplicateProvider().create({
    REPLICATE_API_KEY: 'r8_x',
    REPLICATE_BASE_URL: `${server.origin}/v1`,
  });
  if (created === null) throw new Error('expected a provider');
  provider = created;
  play({ status: 'starting' });
});
afterEach(async () => {
  await provider.close();
  await server.stop();
});

const call = providerCall({ upstreamModel: 'owner/name', mapping: MAPPING });
const jobs = () => provider.video as Required<AsyncJobAdapter>;

/** Answers every request with a prediction. */
function play(prediction: object, status = 201): void {
  server.answer = (response, request) => {
    const place = `${server.origin}/v1/predictions/p1`;
    json({ id: 'p1', urls: { get: place, cancel: `${place}/cancel` }, ...prediction }, status)(response, request);
  };
}

async function stateAfter(prediction: object): Promise<unknown> {
  play({ status: 'starting' });
  const handle = await jobs().submit(videoSpec(), 'token', call);
  play(prediction, 200);
  return jobs().poll(handle, call);
}

describe('a submission to Replicate', () => {
  it('is sent to the model, or with a version, and names its callback', async () => {
    await jobs().submit(videoSpec(), 'token', call);
    await jobs().submit(videoSpec(), 'token', { ...call, upstreamModel: `owner/name:${VERSION}` });
    await jobs().submit(videoSpec(), 'token', { ...call, callbackUrl: 'https://g.example/cb' });
    const input = { prompt: 'a lighthouse', duration: 1 };
    expect(server.received.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([
      ['/v1/models/owner/name/predictions', { input }],
      ['/v1/predictions', { version: VERSION, input }],
      [
        '/v1/models/owner/name/predictions',
        { input, webhook: 'https://g.example/cb', webhook_events_filter: ['completed'] },
      ],
    ]);
    expect(server.received[0]?.headers).toMatchObject({ authorization: 'Bearer r8_x' });
    expect(server.received[0]?.headers).not.toHaveProperty('prefer');
  });

  it('waits for the seconds that a throttled reply names in its text', async () => {
    server.answer = json({ detail: 'Request was throttled. Your rate limit resets in ~30s.', status: 429 }, 429);
    const error = await providerErrorOf(jobs().submit(videoSpec(), 'token', call));
    expect([error.code, error.options.retryAfterSeconds]).toEqual(['provider_rate_limited', 30]);
    expect(server.received).toHaveLength(1);
  });

  it.each([
    [401, { title: 'Unauthenticated', detail: 'You did not pass a token' }, { options: { credentialRefused: true } }],
    [402, { title: 'Insufficient credit', detail: 'Go to billing' }, { options: { credentialRefused: true } }],
    [422, { title: 'Input validation failed', detail: '- input: prompt is required' }, { code: 'validation_failed' }],
    [404, { detail: 'The requested resource could not be found.' }, { code: 'provider_error' }],
  ])('maps the refusal %i', async (status, document, expected) => {
    server.answer = json({ ...document, status }, status);
    expect(await providerErrorOf(jobs().submit(videoSpec(), 'token', call))).toMatchObject(expected);
  });

  it.each([{ id: '' }, { urls: {} }, { id: 7 }])('has an unknown outcome when the reply has %j', async (lack) => {
    play(lack);
    const { options } = await providerErrorOf(jobs().submit(videoSpec(), 'token', call));
    expect(options).toMatchObject({ outcomeUnknown: true, fallback: false });
  });
});

describe('a prediction of Replicate', () => {
  it.each([
    [{ status: 'starting' }, { state: 'queued' }],
    [
      { status: 'processing', logs: ' 40%' },
      { state: 'running', progress: null },
    ],
    [{ status: 'reviewing' }, { state: 'running' }],
    [
      { status: 'succeeded', output: 'https://replicate.delivery/a.mp4', metrics: { predict_time: 12.5 } },
      { outputs: [{ type: 'video', url: 'https://replicate.delivery/a.mp4' }], usage: { units: 12.5, seconds: 0 } },
    ],
    [
      { status: 'succeeded', output: null, data_removed: true },
      { state: 'failed', error: { code: 'provider_error' } },
    ],
    [
      { status: 'failed', error: 'NSFW content detected (E005)' },
      { error: { code: 'provider_error', options: { details: { reason: 'content_filtered' } } } },
    ],
    [
      { status: 'failed', error: 'Prediction interrupted; please retry (code: PA)' },
      { error: { code: 'provider_unavailable' } },
    ],
    [{ status: 'failed', error: 'E1001: out of memory' }, { error: { options: { upstream: { code: 'E1001' } } } }],
    [{ status: 'canceled' }, { state: 'canceled' }],
    [{ status: 'aborted' }, { state: 'expired', error: { code: 'provider_timeout' } }],
  ])('%j', async (prediction, expected) => {
    expect(await stateAfter(prediction)).toMatchObject(expected);
  });

  it('omits the text of a failure, which may quote the prompt', async () => {
    const snapshot = await stateAfter({ status: 'failed', error: 'cannot draw a secret prompt' });
    expect(JSON.stringify(snapshot)).not.toContain('secret');
  });

  it.each([
    ['canceled', 'canceled'],
    ['aborted', 'canceled'],
    ['processing', 'requested'],
    ['succeeded', 'too-late'],
  ])('whose cancellation is answered with %s is %s', async (status, expected) => {
    const handle = await jobs().submit(videoSpec(), 'token', call);
    play({ status }, 200);
    expect(await jobs().cancel(handle, call)).toBe(expected);
    expect(server.received.at(-1)).toMatchObject({ method: 'POST', url: '/v1/predictions/p1/cancel' });
  });

  it('returns audio if the mapping has an audio output', async () => {
    const handle = await (provider.music as AsyncJobAdapter).submit(musicSpec(), 'token', call);
    play({ status: 'succeeded', output: { audio: 'https://replicate.delivery/a.mp3' } });
    expect(await jobs().poll(handle, call)).toMatchObject({ outputs: [{ type: 'audio' }] });
  });

  it('is not polled at another host', async () => {
    const handle = await jobs().submit(videoSpec(), 'token', call);
    await providerErrorOf(jobs().poll({ ...handle, urls: { get: 'https://evil.example/v1/predictions/p1' } }, call));
    expect(server.received).toHaveLength(1);
  });
});

describe('images of Replicate', () => {
  it('are submitted once and awaited, although the first reply only says that they have started', async () => {
    const url = 'https://replicate.delivery/a.png';
    const answers = ['starting', 'processing', 'succeeded'];
    server.answer = (response, request) => {
      const status = answers[Math.min(server.received.length, 3) - 1];
      const place = `${server.origin}/v1/predictions/p1`;
      const output = status === 'succeeded' ? [url, url] : null;
      json({ id: 'p1', status, output, urls: { get: place, cancel: `${place}/cancel` } })(response, request);
    };
    const result = await provider.images?.generate(imageRequest(), call);
    expect(result).toEqual({ images: [url, url].map((each) => ({ url: each, revisedPrompt: null })), usage: null });
    expect(server.received.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
  });
});
