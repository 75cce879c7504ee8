import { compilePrice } from '../../../billing/pricing/price';
import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { json } from '../../../../test/conformance/media-answers';
import { providerCall } from '../../../../test/conformance/provider-call';
import type { AsyncJobAdapter, JobHandle } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { OpenRouterProvider } from './openrouter.module';

const HANDLE: JobHandle = { v: 1, provider: 'openrouter', upstreamModel: 'a video model', id: '1' };

describe('the cost of a video in dollars', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    const settings = { OPENROUTER_API_KEY: 'key', OPENROUTER_BASE_URL: `${upstream.origin}/v1` };
    provider = new OpenRouterProvider().create(settings) as Provider;
  });
  afterAll(async () => {
    await provider.close();
    await upstream.stop();
  });

  async function usageOf(cost: unknown): Promise<UsageVector | null> {
    upstream.answer = json({ status: 'completed', unsigned_urls: ['https://example.com/v.mp4'], usage: { cost } });
    const snapshot = await (provider.video as AsyncJobAdapter).poll(HANDLE, providerCall());
    if (snapshot.state !== 'succeeded') throw new Error(snapshot.state);
    return snapshot.usage;
  }

  it.each([
    [0.07, 70_000n, 77_000n],
    [0.000_123, 123n, 136n],
    [0.000_25, 250n, 275n],
    [0.29, 290_000n, 319_000n],
    [1.1, 1_100_000n, 1_210_000n],
    [0.000_000_4, 1n, 1n],
    [1e-9, 1n, 1n],
    [0.123_456_5, 123_457n, 135_803n],
    [123.456_789_012, 123_456_790n, 135_802_468n],
    ['0.07', 70_000n, 77_000n],
  ])('%p is rounded up once: %s micro-units at cost, %s with a tenth more', async (cost, atCost, withMargin) => {
    const usage = (await usageOf(cost)) ?? NO_USAGE;
    const chargeAt = (perUsd: number) => compilePrice({ vendor_cost: { per_usd_micro: perUsd } }).costMicro(usage);
    expect([chargeAt(1_000_000), chargeAt(1_100_000)]).toEqual([atCost, withMargin]);
  });

  it.each([0, -1, null, 'free', undefined])('a cost of %p does not count as a bill', async (cost) => {
    expect(await usageOf(cost)).toEqual(NO_USAGE);
  });
});
