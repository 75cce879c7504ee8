import { fault, images, tinyPng } from '../../conformance/media-answers';
import { ImageGateway, PRICES } from './image-gateway';

let served: ImageGateway;

beforeAll(async () => {
  served = await ImageGateway.start();
});
afterAll(() => served.stop());
beforeEach(() => {
  served.upstream.answer = images(1);
});

const PNG = tinyPng().toString('base64');

/** Refused before any provider call and any hold. */
async function expectRefused(body: object, status: number, code: string, param?: string): Promise<object | undefined> {
  const asked = served.upstream.received.length;
  const before = await served.balance();
  const { status: got, json } = await served.create(body);
  expect([got, json.error.code, json.error.param]).toEqual([status, code, param]);
  expect([await served.balance(), served.upstream.received.length]).toEqual([before, asked]);
  return json.error.details;
}

describe('400 validation_failed names the field', () => {
  it.each<[string, object, string]>([
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['an empty prompt', { prompt: '' }, 'prompt'],
    ['a prompt of 32,001 characters', { prompt: 'a'.repeat(32_001) }, 'prompt'],
    ['a prompt of 32,001 characters outside the basic plane', { prompt: '😀'.repeat(32_001) }, 'prompt'],
    ['no images', { n: 0 }, 'n'],
    ['eleven images', { n: 11 }, 'n'],
    ['a fractional number of images', { n: 1.5 }, 'n'],
    ['an invalid size', { size: '1024' }, 'size'],
    ['a size of zero', { size: '0x10' }, 'size'],
    ['an unknown quality', { quality: 'best' }, 'quality'],
    ['an unknown format', { response_format: 'png' }, 'response_format'],
    ['an unknown file format', { output_format: 'gif' }, 'output_format'],
    ['an unknown background', { background: 'white' }, 'background'],
    ['a compression above 100 percent', { output_compression: 101 }, 'output_compression'],
    ['an unknown moderation', { moderation: 'none' }, 'moderation'],
    ['an unknown fidelity', { input_fidelity: 'medium' }, 'input_fidelity'],
    ['eleven input images', { input_images: Array(11).fill(PNG) }, 'input_images'],
    ['an input image over http', { input_images: ['http://files.example/a.png'] }, 'input_images[0]'],
    ['an invalid input image', { input_images: [PNG, Buffer.alloc(99).toString('base64')] }, 'input_images[1]'],
    ['a stream of events', { stream: true }, 'stream'],
    ['a model of another kind', { model: 'mock/chat-1' }, 'model'],
    ['an unknown key in routing', { routing: { host: 'example.com' } }, 'routing.host'],
  ])('%s', async (_case, body, param) => {
    await expectRefused(body, 400, 'validation_failed', param);
  });
});

describe('an option that the model does not offer is refused before any hold', () => {
  it.each<[string, object, string, object | undefined]>([
    ['a size', { model: 'local/listed', size: '64x64' }, 'size', { supported: ['512x512', '256x256'] }],
    ['a quality', { model: 'local/listed', quality: 'low' }, 'quality', { supported: ['hd', 'standard'] }],
    ['a file format', { model: 'mock/image-1', output_format: 'webp' }, 'output_format', { supported: ['png'] }],
    ['a style', { model: 'local/listed', style: 'natural' }, 'style', { supported: ['vivid'] }],
    ['a number', { model: 'local/plain', n: 3 }, 'n', { maximum: 2 }],
    ['input images', { model: 'local/plain', input_images: [PNG] }, 'input_images', undefined],
  ])('%s', async (_case, body, param, details) => {
    expect(await expectRefused(body, 400, 'validation_failed', param)).toEqual(details);
  });

  it('a fallback model without the option is not used', async () => {
    const before = served.upstream.received.length;
    served.upstream.answer = fault(429);
    // The second model makes no three images, the third has no price for the size.
    const routing = { models: ['local/plain', 'local/sized', 'local/follower'] };
    expect((await served.create({ n: 3, routing })).status).toBe(429);
    const asked = served.upstream.received.slice(before).map(({ body }) => JSON.parse(body).model as string);
    expect(new Set(asked)).toEqual(new Set(['images', 'follower']));
  });
});

describe('other refusals', () => {
  it('401 without a key, before the body is read', async () => {
    const reply = await served.gateway.call('/v1/images/generations', { key: null, body: '{"broken' });
    expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_api_key']);
  });

  it('400 ssrf_blocked for a URL that is not public, with any model', async () => {
    const body = { model: 'unknown/model', input_images: [PNG, 'https://169.254.169.254/latest'] };
    await expectRefused(body, 400, 'ssrf_blocked', 'input_images[1]');
  });

  it('400 for a URL that cannot be fetched: the hold is released and no provider is called', async () => {
    const asked = served.upstream.received.length;
    const { reply, cost } = await served.costOf(() =>
      served.create({ input_images: ['https://nowhere.invalid./a.png'] }),
    );
    expect([reply.status, reply.json.error.param, cost]).toEqual([400, 'input_images[0]', 0]);
    expect(served.upstream.received.length).toBe(asked);
  });

  it('404 for an unknown model', () => expectRefused({ model: 'local/none' }, 404, 'model_not_found', 'model'));

  it('403 for a key limited to texts or to other models', async () => {
    const texts = await served.gateway.customer({ allowedModalities: ['text'] });
    const others = await served.gateway.customer({ allowedModels: ['mock/chat-1'] });
    const codes = [];
    for (const { key } of [texts, others]) codes.push((await served.create({}, {}, key)).json.error.code);
    expect(codes).toEqual(['modality_not_allowed', 'model_not_allowed']);
  });

  it('402 when the images cost a micro-unit more than the balance, and not when they equal it', async () => {
    const poor = await served.gateway.customer({}, BigInt(3 * PRICES.other - 1));
    served.upstream.answer = images(2);
    const refused = await served.create({ n: 3 }, {}, poor.key);
    expect([refused.status, refused.json.error.code]).toEqual([402, 'insufficient_credits']);
    expect((await served.create({ n: 2 }, {}, poor.key)).status).toBe(200);
    expect(await served.balance(poor)).toBe(PRICES.other - 1);
  });

  it('415 for a form', async () => {
    const form = new FormData();
    form.set('prompt', 'a cat');
    const reply = await served.gateway.call('/v1/images/generations', { key: served.customer.key, body: form });
    expect([reply.status, reply.json.error.code]).toEqual([415, 'unsupported_media_type']);
  });
});

describe('without object storage', () => {
  let bare: ImageGateway;
  beforeAll(async () => {
    bare = await ImageGateway.start({ STORAGE: 'none' });
  });
  afterAll(() => bare.stop());

  it.each(['local/bytes', 'mock/image-1'])('501 for URLs of %s, whose vendor returns none', async (model) => {
    const before = await bare.balance();
    const asked = bare.upstream.received.length;
    const reply = await bare.create({ model, response_format: 'url' });
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([
      501,
      'not_configured',
      'response_format',
    ]);
    expect([await bare.balance(), bare.upstream.received.length]).toEqual([before, asked]);
    expect((await bare.create()).status).toBe(200);
  });

  it.each(['https', 'http'])('requests URLs from the vendor and passes %s through unchanged', async (scheme) => {
    const url = `${scheme}://vendor.example/a.png?sig=x`;
    const data = [{ url, revised_prompt: 'a grey cat' }];
    bare.upstream.answer = (response) => response.end(JSON.stringify({ data }));
    const reply = await bare.create({ response_format: undefined });
    expect([reply.status, reply.json.data]).toEqual([200, data]);
    expect(bare.lastBody).toMatchObject({ response_format: 'url' });

    expect((await bare.create({ model: 'local/mixed', response_format: 'url' })).json.data).toEqual(data);
    expect(bare.lastBody).toMatchObject({ model: 'gives-urls' });

    bare.upstream.answer = images(1);
    const bytes = await bare.create({ response_format: 'url' });
    expect([bytes.status, bytes.json.error.code]).toEqual([502, 'provider_error']);
  });
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});
