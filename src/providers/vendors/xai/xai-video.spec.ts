import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { videoSpec } from '../../../../test/conformance/job-requests';
import { json } from '../../../../test/conformance/media-answers';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { AsyncJobAdapter, JobHandle } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import { XaiProvider } from './xai.module';

const HANDLE: JobHandle = { v: 1, provider: 'xai', upstreamModel: 'grok-imagine-video', id: '1' };

describe('XaiVideo', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    const settings = { XAI_API_KEY: 'key', XAI_BASE_URL: `${upstream.origin}/v1` };
    provider = new XaiProvider().create(settings) as Provider;
  });
  afterAll(async () => {
    await provider.close();
    await upstream.stop();
  });
  const poll = () => (provider.video as AsyncJobAdapter).poll(HANDLE, providerCall());

  it.each([400, 422])('fails a video whose poll is refused with %i by moderation', async (status) => {
    const error = 'Generated video rejected by content moderation.';
    upstream.answer = json({ code: 'imagine:content-moderated', error }, status);
    expect(await poll()).toMatchObject({
      state: 'failed',
      error: { options: { details: { reason: 'content_filtered' }, upstream: { code: 'imagine:content-moderated' } } },
    });
  });

  it('does not fail a video whose poll is refused for another reason', async () => {
    upstream.answer = json({ code: 'Client specified an invalid argument', error: 'Bad request.' }, 400);
    expect((await providerErrorOf(poll())).options.upstream?.status).toBe(400);
  });

  it.each([
    [true, 'Zero Data Retention teams must provide output.upload_url for video generation.'],
    [true, 'Model not found: grok-imagine-video'],
    [true, '1080p video resolution is not available for your team.'],
    [false, 'Invalid value for duration.'],
    [false, 'Invalid value "is not available for your team" for aspect_ratio.'],
    [false, 'The prompt "1080p video resolution is not available for your team." is invalid.'],
  ])('leaves a video to another provider (%s): %s', async (fallback, error) => {
    upstream.answer = json({ code: 'invalid-argument', error }, 400);
    const submission = (provider.video as AsyncJobAdapter).submit(videoSpec({}), 'token', providerCall());
    const { code, options } = await providerErrorOf(submission);
    expect([options.fallback, code, options.credentialRefused]).toEqual([
      fallback,
      fallback ? 'provider_error' : 'validation_failed',
      undefined,
    ]);
  });
});
