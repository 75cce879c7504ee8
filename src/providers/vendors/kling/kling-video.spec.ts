import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { videoSpec } from '../../../../test/conformance/job-requests';
import { json } from '../../../../test/conformance/media-answers';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { healthEffectOf } from '../../../models/routing/health.service';
import type { AsyncJobAdapter } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import { KlingProvider } from './kling.module';

describe('a code of Kling', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    const settings = { KLING_API_KEY: 'key', KLING_BASE_URL: `${upstream.origin}/v1` };
    provider = new KlingProvider().create(settings) as Provider;
  });
  afterAll(async () => {
    await provider.close();
    await upstream.stop();
  });

  async function refusal(status: number, code: number) {
    upstream.answer = json({ code, message: 'refused', request_id: 'r' }, status);
    return providerErrorOf((provider.video as AsyncJobAdapter).submit(videoSpec({}), 'token', providerCall()));
  }

  it.each([
    [401, 1002],
    [429, 1101],
    [429, 1102],
    [429, 1304],
  ])('%i %i is about the account, which waiting does not help', async (status, code) => {
    const error = await refusal(status, code);
    expect([error.code, error.options.credentialRefused, healthEffectOf(error)]).toEqual([
      'provider_error',
      true,
      'refused',
    ]);
  });

  it.each([
    [429, 1302],
    [429, 1303],
  ])('%i %i is a limit', async (status, code) => {
    const error = await refusal(status, code);
    expect([error.code, healthEffectOf(error)]).toEqual(['provider_rate_limited', 'limited']);
  });

  it('403 1103 is about one model, so that the key stays in use for the others', async () => {
    const error = await refusal(403, 1103);
    expect([error.options.upstream, error.options.credentialRefused, healthEffectOf(error)]).toEqual([
      { status: 403, code: '1103' },
      true,
      'failure',
    ]);
  });
});
