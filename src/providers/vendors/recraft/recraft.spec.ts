import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { formOf, json, tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { PNG } from '../../../../test/conformance/media-uses';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ImageRequest } from '../../contract/images';
import type { Provider } from '../../contract/provider';
import { RecraftProvider } from './recraft.module';

const IMAGE = 'https://img.recraft.ai/one.png';

describe('RecraftImages', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const environment = { RECRAFT_API_KEY: 'key', RECRAFT_BASE_URL: `${upstream.origin}/v1` };
    provider = new RecraftProvider().create(environment) as Provider;
    upstream.answer = json({ data: [{ url: IMAGE }], credits: 40 });
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  const generate = (request: Partial<ImageRequest>) =>
    provider.images?.generate(
      imageRequest(request),
      providerCall({ upstreamModel: 'recraftv3', quirks: provider.quirks }),
    ) as Promise<unknown>;

  it('edits the masked area of an input image, and bills the reported credits', async () => {
    const mask = { bytes: tinyPng(1), contentType: 'image/png' } as const;
    const result = await generate({ images: [PNG], mask, style: 'icon', user: 'ada', delivery: 'url' });
    expect(result).toMatchObject({ images: [{ url: IMAGE }], usage: { units: 40 } });
    const [received] = upstream.received;
    const { image: _image, mask: sent, ...fields } = Object.fromEntries(await formOf(received));
    expect([received?.url, fields]).toEqual([
      '/v1/images/inpaint',
      { model: 'recraftv3', prompt: 'a lighthouse', n: '1', style: 'icon', response_format: 'url' },
    ]);
    expect(Buffer.from(await (sent as File).arrayBuffer())).toEqual(tinyPng(1));
  });

  it.each<[string, Partial<ImageRequest>]>([
    ['image', { images: [PNG] }],
    ['input_images', { images: [PNG, PNG], mask: PNG }],
    ['size', { images: [PNG], mask: PNG, size: '1024x1024' }],
    ['quality', { images: [PNG], mask: PNG, quality: 'high' }],
  ])('refuses an unsupported %s before the call', async (param, option) => {
    const { code, options } = await providerErrorOf(generate(option));
    expect([code, options.param, upstream.received.length]).toEqual(['validation_failed', param, 0]);
  });
});
