import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { FAL_PROMPTS, type FalEnd, FalUpstream } from '../../../../test/conformance/fal-upstream';
import { musicSpec, videoSpec } from '../../../../test/conformance/job-requests';
import { tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { systemClock } from '../../../core/time/clock';
import type { AsyncJobAdapter, JobHandle, JobSnapshot } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import type { ProviderCall } from '../../contract/provider-call';
import type { RequestMapping } from '../../contract/request-mapping';
import { FalProvider } from '../../vendors/fal/fal.module';

const VIDEO: RequestMapping = {
  map: {
    prompt: 'prompt',
    duration_seconds: { to: 'duration', format: '{}s' },
    resolution: 'resolution',
    image_url: 'image_url',
    audio: 'generate_audio',
  },
  fixed: { safety_tolerance: '5' },
  output: { video: '$.video.url' },
};
const MUSIC: RequestMapping = {
  map: { prompt: 'prompt', duration_seconds: 'seconds_total' },
  output: { audio: '$.audio.url' },
};
const IMAGES: RequestMapping = {
  map: {
    prompt: 'prompt',
    size: { to: 'image_size', as: 'width_height' },
    n: 'num_images',
    input_images: 'image_urls',
  },
  output: { image: '$.images[*].url' },
};
const HOUR_MS = 3_600_000;
const PNG = { bytes: tinyPng(), contentType: 'image/png' } as const;

let server: FakeUpstream;
let fal: FalUpstream;
let provider: Provider;
beforeEach(async () => {
  server = await FakeUpstream.start();
  fal = new FalUpstream();
  server.answer = fal.answer;
  const created = new FalProvider().create({ FAL_KEY: 'id:secret', FAL_BASE_URL: server.origin });
  if (created === null) throw new Error('expected a provider');
  provider = created;
});
afterEach(async () => {
  jest.restoreAllMocks();
  await provider.close();
  await server.stop();
});

const callOf = (mapping: RequestMapping, more: Partial<ProviderCall> = {}) =>
  providerCall({ upstreamModel: 'owner/app/text-to-video', mapping, ...more });
const videoCall = callOf(VIDEO);
const jobs = () => provider.video as Required<AsyncJobAdapter>;
const submit = (prompt = 'x') => jobs().submit(videoSpec({ prompt }), 'token', videoCall);
const bodyOf = (at = 0) => JSON.parse(fal.submissions[at]?.body ?? '{}') as object;

async function endWith(end: FalEnd): Promise<JobSnapshot> {
  fal.end = end;
  return jobs().poll(await submit(), videoCall);
}

describe('a submission to fal', () => {
  it('has the full path of the endpoint, the key and the mapped input with images as data URLs', async () => {
    await jobs().submit(videoSpec({ firstFrame: PNG, durationSeconds: 8 }), 'token', videoCall);
    const [request] = fal.submissions;
    expect([request?.url, request?.headers.authorization]).toEqual(['/owner/app/text-to-video', 'Key id:secret']);
    expect(bodyOf()).toEqual({
      prompt: 'a lighthouse',
      duration: '8s',
      resolution: '480p',
      generate_audio: false,
      image_url: `data:image/png;base64,${PNG.bytes.toString('base64')}`,
      safety_tolerance: '5',
    });
  });

  it('sends the callback URL as fal_webhook', async () => {
    await jobs().submit(videoSpec(), 'token', { ...videoCall, callbackUrl: 'https://g.example/cb?a=1&b=2' });
    expect(fal.submissions[0]?.url).toBe(
      '/owner/app/text-to-video?fal_webhook=https%3A%2F%2Fg.example%2Fcb%3Fa%3D1%26b%3D2',
    );
  });

  it('keeps the URLs of the reply unchanged', async () => {
    const place = `${server.origin}/owner/app/requests/request-1`;
    expect(await submit()).toEqual({
      v: 1,
      provider: 'fal',
      upstreamModel: 'owner/app/text-to-video',
      id: 'request-1',
      urls: { status: `${place}/status`, response: place, cancel: `${place}/cancel` },
      output: { video: '$.video.url' },
    });
  });

  it('is sent once, whatever the answer, and not at all without a mapping or for an option without a field', async () => {
    for (const prompt of [FAL_PROMPTS.answerLost, FAL_PROMPTS.rateLimited]) await providerErrorOf(submit(prompt));
    expect(fal.submissions).toHaveLength(2);
    const unmapped = jobs().submit(videoSpec(), 'token', providerCall());
    const lastFrame = jobs().submit(videoSpec({ lastFrame: PNG }), 'token', videoCall);
    expect((await providerErrorOf(unmapped)).options.phase).toBe('connect');
    expect((await providerErrorOf(lastFrame)).options).toMatchObject({ phase: 'connect', param: 'end_image_url' });
    expect(fal.submissions).toHaveLength(2);
  });

  it.each([
    [{}, true],
    [{ request_id: 'r', status_url: 'x', response_url: 'x', cancel_url: 'x' }, true],
  ])('has an unknown outcome when the reply is %j', async (reply, outcomeUnknown) => {
    fal.intercept = (response) => Boolean(response.end(JSON.stringify(reply)));
    expect((await providerErrorOf(submit())).options).toMatchObject({ outcomeUnknown, fallback: false });
  });

  it('ends in time, says when it was certainly not accepted, and names the end of a rate limit', async () => {
    const silent = { ...videoCall, deadlines: { ...videoCall.deadlines, firstTokenMs: 20 } };
    const failures = [
      jobs().submit(videoSpec({ prompt: FAL_PROMPTS.silent }), 'token', silent),
      submit(FAL_PROMPTS.answerLost),
      submit(FAL_PROMPTS.rateLimited),
      jobs().submit(videoSpec(), 'token', { ...videoCall, signal: AbortSignal.abort() }),
    ].map(async (each) => {
      const { code, options } = await providerErrorOf(each);
      return [code, options.outcomeUnknown ?? false, options.retryAfterSeconds];
    });
    expect(await Promise.all(failures)).toEqual([
      ['provider_timeout', true, undefined],
      ['provider_unavailable', true, undefined],
      ['provider_rate_limited', false, 7],
      ['provider_disconnect', false, undefined],
    ]);
  });

  it.each([
    [401, { detail: 'Cannot access application' }, { code: 'provider_error', options: { credentialRefused: true } }],
    [403, { detail: 'User is locked. Reason: Exhausted balance.' }, { options: { credentialRefused: true } }],
    [422, { detail: [{ loc: ['body', 'prompt'], msg: 'required', type: 'missing' }] }, { code: 'validation_failed' }],
    [503, { detail: 'unavailable' }, { code: 'provider_unavailable' }],
  ])('maps the refusal %i', async (status, document, expected) => {
    fal.intercept = (response) => {
      response.writeHead(status).end(JSON.stringify(document));
      return true;
    };
    expect(await providerErrorOf(submit())).toMatchObject(expected);
  });
});

describe('a job at fal', () => {
  it('is queued, running and done, with the billable units of its result', async () => {
    const handle = await submit(FAL_PROMPTS.underWay);
    expect(await jobs().poll(handle, videoCall)).toEqual({ state: 'queued', progress: null });
    expect(await jobs().poll(handle, videoCall)).toEqual({ state: 'running', progress: null });
    const done = await jobs().poll(await submit(), videoCall);
    expect(done).toMatchObject({
      state: 'succeeded',
      outputs: [{ type: 'video', url: `${server.origin}/files/video.mp4` }],
      usage: { units: 1.25 },
    });
  });

  it('fails to poll with status 404 when fal does not know it, which is not a failed job', async () => {
    const handle = await submit();
    fal.jobs.clear();
    expect((await providerErrorOf(jobs().poll(handle, videoCall))).options.upstream?.status).toBe(404);
  });

  it('fails or expires without the text of fal, which may quote the prompt', async () => {
    const ends = [FAL_PROMPTS.failed, FAL_PROMPTS.expired].map(async (prompt) => {
      const snapshot = await jobs().poll(await submit(prompt), videoCall);
      expect(JSON.stringify(snapshot)).not.toContain('secret');
      return 'error' in snapshot && [snapshot.state, snapshot.error.code];
    });
    expect(await Promise.all(ends)).toEqual([
      ['failed', 'provider_error'],
      ['expired', 'provider_timeout'],
    ]);
  });

  it('is read with the mapping of its submission, even after the catalogue has dropped the mapping', async () => {
    const call = callOf(MUSIC);
    const handle = await (provider.music as AsyncJobAdapter).submit(musicSpec({ format: null }), 'token', call);
    const stored = JSON.parse(JSON.stringify(handle)) as JobHandle;
    expect(await jobs().poll(stored, providerCall())).toMatchObject({ outputs: [{ type: 'audio' }] });
    expect(bodyOf()).toEqual({ prompt: 'a sea shanty', seconds_total: 1 });
  });

  it('refuses an instrumental where the model has no such option', async () => {
    const submission = (provider.music as AsyncJobAdapter).submit(
      musicSpec({ instrumental: true }),
      'token',
      callOf(MUSIC),
    );
    expect((await providerErrorOf(submission)).options.param).toBe('instrumental');
  });

  it.each<[string, FalEnd, object]>([
    [
      'content policy',
      { code: 422, result: { detail: [{ loc: ['body', 'prompt'], msg: 'no', type: 'content_policy_violation' }] } },
      { state: 'failed', error: { code: 'provider_error', options: { details: { reason: 'content_filtered' } } } },
    ],
    [
      'an image that cannot be used',
      { code: 422, result: { detail: [{ loc: ['body', 'image_url'], msg: 'small', type: 'image_too_small' }] } },
      { state: 'failed', error: { code: 'validation_failed', options: { param: 'image_url' } } },
    ],
    [
      'a downstream service',
      { code: 500, result: { detail: [{ loc: ['body'], msg: '', type: 'downstream_service_unavailable' }] } },
      { state: 'failed', error: { code: 'provider_unavailable' } },
    ],
    [
      'a generation that took too long',
      { code: 504, result: { detail: [{ loc: ['body'], msg: '', type: 'generation_timeout' }] } },
      { state: 'failed', error: { code: 'provider_timeout' } },
    ],
    [
      'an error that only the status reports',
      { status: { error: 'x', error_type: 'runner_disconnected' }, result: {} },
      { state: 'failed', error: { code: 'provider_unavailable' } },
    ],
    [
      'a fault of the platform that only the result reports',
      { code: 503, result: { detail: 'Runner disconnected', error_type: 'runner_disconnected' } },
      { state: 'failed', error: { code: 'provider_unavailable' } },
    ],
    [
      'a runner that could not be connected to in time',
      { status: { error: 'x', error_type: 'runner_connection_timeout' }, code: 503, result: { detail: 'x' } },
      { state: 'failed', error: { code: 'provider_unavailable' } },
    ],
    [
      'a request that the platform calls malformed',
      { status: { error: 'x', error_type: 'bad_request' }, code: 400, result: { detail: 'x' } },
      { state: 'failed', error: { code: 'validation_failed' } },
    ],
    [
      'a refusal with 400',
      { code: 400, result: { detail: 'Unsupported image of the secret of my prompt' } },
      { state: 'failed', error: { code: 'validation_failed' } },
    ],
    [
      'an error of the status whose result is a bare 400',
      { status: { error: 'x', error_type: 'runner_disconnected' }, code: 400, result: { detail: 'x' } },
      { state: 'failed', error: { code: 'provider_unavailable' } },
    ],
    ['no result', { result: { video: null } }, { state: 'failed', error: { code: 'provider_error' } }],
    [
      'a removal from the queue',
      { status: { status: 'OK', error: 'cancelled', error_type: 'client_cancelled' }, code: 499, result: {} },
      { state: 'canceled' },
    ],
  ])('has failed although it is COMPLETED: %s', async (_what, end, expected) => {
    expect(await endWith(end)).toMatchObject(expected);
  });

  it.each(['multiple_of', 'one_of', 'sequence_too_long', 'feature_not_supported'])(
    'is a fault of the request for an input that the model refuses as %s',
    async (type) => {
      const result = { detail: [{ loc: ['body', 'image_url'], msg: 'no', type }] };
      expect(await endWith({ code: 422, result })).toMatchObject({ error: { code: 'validation_failed' } });
    },
  );

  it('continues when the result is not ready yet, and when neither status nor result can be read', async () => {
    expect(await endWith({ code: 400, result: { detail: 'Request is still in progress' } })).toMatchObject({
      state: 'running',
    });
    for (const [code, result] of [
      [502, '<html></html>'],
      [400, { detail: 'Incorrect API key' }],
      [200, 'not JSON'],
      [429, {}],
    ] as const) {
      fal.end = { code, result };
      const error = await providerErrorOf(jobs().poll(await submit(), videoCall));
      expect(error.code).not.toBe('validation_failed');
    }
    fal.intercept = (response) => Boolean(response.end('{"status":"REVIEWING"}'));
    expect(await jobs().poll(await unintercepted(), videoCall)).toEqual({ state: 'running', progress: null });
  });

  /** Submitted before the interception. */
  async function unintercepted(): Promise<JobHandle> {
    const { intercept } = fal;
    fal.intercept = () => false;
    const handle = await submit();
    fal.intercept = intercept;
    return handle;
  }

  it('is canceled in the queue, asked to stop when running, and not once it has ended', async () => {
    const queued = await submit(FAL_PROMPTS.underWay);
    expect(await jobs().cancel(queued, videoCall)).toBe('canceled');
    expect(await jobs().poll(queued, videoCall)).toMatchObject({ state: 'canceled' });
    const running = await submit(FAL_PROMPTS.underWay);
    await jobs().poll(running, videoCall);
    await jobs().poll(running, videoCall);
    expect(await jobs().cancel(running, videoCall)).toBe('requested');
    expect(await jobs().cancel(await submit(), videoCall)).toBe('too-late');
  });

  it('never sends the key to another host, and sends requests for the hosts of fal to the configured one', async () => {
    const handle = await submit();
    const at = (origin: string) => ({
      ...handle,
      urls: {
        status: `${origin}/owner/app/requests/request-1/status`,
        response: `${origin}/owner/app/requests/request-1`,
      },
    });
    await providerErrorOf(jobs().poll(at('https://evil.example'), videoCall));
    expect(server.received).toHaveLength(1);
    expect(await jobs().poll(at('https://queue.fal.run'), videoCall)).toMatchObject({ state: 'succeeded' });
  });
});

describe('images of fal', () => {
  const generate = (more = {}, call = callOf(IMAGES)) => provider.images?.generate(imageRequest(more), call);

  it('are created once and awaited', async () => {
    const result = await generate({ count: 2, size: '1024x768', images: [PNG] });
    expect(result).toMatchObject({ images: [{ url: `${server.origin}/files/video.mp4` }], usage: { units: 1.25 } });
    expect(bodyOf()).toMatchObject({ num_images: 2, image_size: { width: 1_024, height: 768 } });
    expect(fal.submissions).toHaveLength(1);
  });

  it('are refused by moderation, which some models show as black images', async () => {
    for (const end of [
      { result: { images: [{ url: 'https://a.example/b.png' }], has_nsfw_concepts: [true] } },
      { code: 422, result: { detail: [{ loc: ['body'], msg: 'no', type: 'content_policy_violation' }] } },
    ]) {
      fal.end = end;
      const error = await providerErrorOf(generate() as Promise<unknown>);
      expect(error.options).toMatchObject({ details: { reason: 'content_filtered' }, fallback: false });
    }
  });

  it('are canceled when the call ends before them, and allow no other attempt', async () => {
    const deadlines = { connectMs: HOUR_MS, firstTokenMs: HOUR_MS, idleMs: HOUR_MS, totalMs: HOUR_MS };
    // The time is up when fal is first asked for the status.
    let passedMs = 0;
    jest.spyOn(systemClock, 'monotonic').mockImplementation(() => performance.now() + passedMs);
    const canceled = new Promise<void>((resolve) => {
      fal.intercept = (_response, { method, url }) => {
        if (url.endsWith('/status')) passedMs = HOUR_MS;
        if (method === 'PUT') resolve();
        return false;
      };
    });
    const error = await providerErrorOf(
      generate({ prompt: FAL_PROMPTS.underWay }, callOf(IMAGES, { deadlines })) as Promise<unknown>,
    );
    expect([error.code, error.options.fallback]).toEqual(['provider_timeout', false]);
    await canceled;
    expect(fal.submissions).toHaveLength(1);
  });
});
