import { PIXEL } from '../../harness/public-host';
import { ScriptedDns } from '../../harness/scripted-dns';
import { GuardedClient } from '../../../src/core/outbound/guarded-client';
import { OutboundClient } from '../../../src/core/outbound/outbound-client';
import { JobGateway, VIDEO } from './job-gateway';

const PNG = PIXEL.toString('base64');

let served: JobGateway;

beforeAll(async () => {
  served = await JobGateway.start();
});
afterAll(() => served.stop());

/** Refused before any hold and any storage. */
async function expectRefused(body: object, status: number, code: string, param?: string): Promise<object | undefined> {
  const before = await served.balance();
  const { status: got, json } = await served.createVideo(body);
  expect([got, json.error.code, json.error.param]).toEqual([status, code, param]);
  expect([await served.balance(), await served.objects(served.customer)]).toEqual([before, []]);
  return json.error.details;
}

describe('400 validation_failed names the field', () => {
  it.each<[string, object, string]>([
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['a prompt of 10,001 characters', { prompt: '😀'.repeat(10_001) }, 'prompt'],
    ['less than a second', { duration_seconds: 0.5 }, 'duration_seconds'],
    ['more than two minutes', { duration_seconds: 121 }, 'duration_seconds'],
    ['an invalid ratio', { aspect_ratio: '16x9' }, 'aspect_ratio'],
    ['a first frame over http', { image_url: 'http://a.example/a.png' }, 'image_url'],
    ['a last frame that is not a URL', { end_image_url: PNG }, 'end_image_url'],
    ['a webhook over http', { webhook_url: 'http://hooks.example/a' }, 'webhook_url'],
    ['a webhook with a password', { webhook_url: 'https://a:b@hooks.example/a' }, 'webhook_url'],
    ['eleven references', { input_images: Array(11).fill(PNG) }, 'input_images'],
    ['a reference that is not an image', { input_images: [PNG, 'A'.repeat(64)] }, 'input_images[1]'],
    ['a label that is not a text', { metadata: { a: 1 } }, 'metadata'],
    ['65 labels', { metadata: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [at, ''])) }, 'metadata'],
    [
      'labels above 16 KiB in total',
      { metadata: Object.fromEntries(Array.from({ length: 32 }, (_, at) => [10 + at, 'a'.repeat(511)])) },
      'metadata',
    ],
    ['a fractional cost cap', { max_cost_micro: 0.5 }, 'max_cost_micro'],
    ['a model of another kind', { model: 'mock/music-1' }, 'model'],
    ['an unknown key in routing', { routing: { host: 'example.com' } }, 'routing.host'],
  ])('%s', async (_case, body, param) => {
    await expectRefused(body, 400, 'validation_failed', param);
  });

  it('accepts values just within the limits', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [10 + at, 'a'.repeat(510)]));
    const body = { prompt: '😀'.repeat(10_000), duration_seconds: 120, metadata };
    expect((await served.createVideo(body)).status).toBe(202);
  });
});

describe('an option that the model does not offer is refused and not rounded', () => {
  const basic = { model: 'mock/video-basic-1' };
  it.each<[string, object, string, object | undefined]>([
    ['a duration', { ...basic, duration_seconds: 5 }, 'duration_seconds', { supported: [4, 8, 12] }],
    ['a resolution', { ...basic, resolution: '720p' }, 'resolution', { supported: ['480p'] }],
    ['a ratio', { ...basic, aspect_ratio: '16:9' }, 'aspect_ratio', undefined],
    ['sound', { ...basic, audio: true }, 'audio', undefined],
    ['a first frame', { ...basic, image_url: 'https://a.example/a.png' }, 'image_url', undefined],
    ['a last frame', { ...basic, end_image_url: 'https://a.example/a.png' }, 'end_image_url', undefined],
    ['references', { ...basic, input_images: [PNG] }, 'input_images', undefined],
    ['a ratio of another list', { aspect_ratio: '4:3' }, 'aspect_ratio', { supported: ['16:9', '9:16', '1:1'] }],
  ])('%s', async (_case, body, param, details) => {
    expect(await expectRefused(body, 400, 'validation_failed', param)).toEqual(details);
  });

  it('returns the estimate when max_cost_micro is below it', async () => {
    const details = await expectRefused({ max_cost_micro: 9_999 }, 400, 'validation_failed', 'max_cost_micro');
    expect(details).toEqual({ estimated_cost_micro: 10_000 });
  });
});

describe('400 ssrf_blocked', () => {
  const addresses = ['https://127.0.0.1/a', 'https://[::1]/a', 'https://169.254.169.254/latest', 'https://a.internal/'];
  it.each(addresses)('for %s in every field, with any model', async (url) => {
    const model = 'unknown/model';
    await expectRefused({ model, webhook_url: url }, 400, 'ssrf_blocked', 'webhook_url');
    await expectRefused({ model, image_url: url }, 400, 'ssrf_blocked', 'image_url');
    await expectRefused({ model, end_image_url: url }, 400, 'ssrf_blocked', 'end_image_url');
    await expectRefused({ model, input_images: [PNG, url] }, 400, 'ssrf_blocked', 'input_images[1]');
  });

  it('for a name that resolves to a private address, but not for a name that does not resolve', async () => {
    const dns = new ScriptedDns({
      'inward.example': [['93.184.216.34', '10.0.0.1']],
      'outward.example': [['93.184.216.34']],
    });
    const guard = new GuardedClient({
      allowCidrs: [],
      denyCidrs: [],
      denyHosts: [],
      nat64: false,
      resolve: dns.resolve,
    });
    const client = served.service(OutboundClient as never) as OutboundClient;
    const look = jest
      .spyOn(client, 'assertPublicHost')
      .mockImplementation((url, param) => guard.assertPublicHost(url, param));
    try {
      const inward = 'https://inward.example/a';
      await expectRefused({ webhook_url: inward }, 400, 'ssrf_blocked', 'webhook_url');
      await expectRefused({ image_url: inward }, 400, 'ssrf_blocked', 'image_url');
      await expectRefused({ input_images: [inward] }, 400, 'ssrf_blocked', 'input_images[0]');
      const customer = await served.gateway.customer();
      const fine = { webhook_url: 'https://nowhere.example/a', image_url: 'https://outward.example/a.png' };
      const key = 'judged-once';
      expect((await served.createVideo(fine, { customer, key })).status).toBe(202);
      const asked = dns.asked.length;
      expect((await served.createVideo(fine, { customer, key })).status).toBe(202);
      expect(dns.asked).toHaveLength(asked);
    } finally {
      look.mockRestore();
    }
  });
});

describe('authorization', () => {
  const codeOf = async (customer: Awaited<ReturnType<typeof served.gateway.customer>>, body: object = {}) => {
    const { status, json } = await served.createVideo(body, { customer });
    return `${status} ${json.error.code}`;
  };

  it('401 without a key, before the body is read', async () => {
    const reply = await served.gateway.call(VIDEO, { key: null, body: '{"broken' });
    expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_api_key']);
  });

  it('403 for a model or kind that the key may not use, also for a replay of another key', async () => {
    const [open] = [await served.gateway.customer()];
    expect(await codeOf(await served.gateway.customer({ allowedModels: ['mock/chat-1'] }))).toBe(
      '403 model_not_allowed',
    );
    expect(await codeOf(await served.gateway.customer({ allowedModalities: ['music'] }))).toBe(
      '403 modality_not_allowed',
    );
    const routing = { models: ['mock/video-basic-1'] };
    const some = await served.gateway.customer({ allowedModels: ['mock/video-1'] });
    expect(await codeOf(some, { routing })).toBe('403 model_not_allowed');
    expect((await served.createVideo({}, { customer: open })).status).toBe(202);
  });

  it('402 in the order of budget, spending limit and balance; an amount equal to the limit passes', async () => {
    expect(await codeOf(await served.gateway.customer({ dailyBudgetMicro: 14_999n }, 0n))).toBe('402 budget_exceeded');
    expect(await codeOf(await served.gateway.customer({}, 14_999n))).toBe('402 insufficient_credits');
    const exact = await served.gateway.customer({ monthlyBudgetMicro: 15_000n }, 15_000n);
    expect((await served.createVideo({}, { customer: exact })).status).toBe(202);
    expect(await codeOf(exact)).toBe('402 budget_exceeded');
  });

  it('429 above the request limit of the key', async () => {
    const customer = await served.gateway.customer({ requestsPerMinute: 1 });
    await served.submitted({}, customer);
    const { status, json, headers } = await served.createVideo({}, { customer });
    expect([status, json.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(headers.get('retry-after'))).toBe(json.error.retry_after);
    expect(await served.jobCount(customer)).toBe(1);
  });

  it('404 for an unknown model', () => expectRefused({ model: 'a/b' }, 404, 'model_not_found', 'model'));

  it('503 when routing excludes every provider', () =>
    expectRefused({ routing: { only: ['unknown'] } }, 503, 'no_provider_available', 'routing'));
});

it('frees the key of a refused request', async () => {
  const customer = await served.gateway.customer({}, 14_999n);
  expect((await served.createVideo({}, { customer, key: 'free' })).status).toBe(402);
  expect((await served.createVideo({ duration_seconds: 1 }, { customer, key: 'free' })).status).toBe(202);
});

describe('501', () => {
  it.each([
    ['not_implemented', { MOCK_MEDIA_PROVIDER: 'false' }, ['mock/video-1', 'unknown/model', 'mock/chat-1']],
    ['not_configured', { STORAGE: 'none' }, ['mock/video-1']],
  ])('%s with %j, before any balance check', async (code, settings, models) => {
    const without = await JobGateway.start(settings);
    try {
      const customer = await without.gateway.customer({}, 0n);
      for (const model of models) {
        const { status, json } = await without.createVideo({ model }, { customer });
        expect([status, json.error.code]).toEqual([501, code]);
        const music = await without.createMusic({ model: model.replace('video', 'music') }, { customer });
        expect([music.status, music.json.error.code]).toEqual([501, code]);
      }
      expect((await without.gateway.call(VIDEO, { key: null, body: {} })).status).toBe(401);
    } finally {
      await without.stop();
    }
  });
});
