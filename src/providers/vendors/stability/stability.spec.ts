import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { formOf, json, tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { PNG } from '../../../../test/conformance/media-uses';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ImageRequest } from '../../contract/images';
import type { Provider } from '../../contract/provider';
import { StabilityProvider } from './stability.module';

describe('StabilityImages', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const environment = { STABILITY_API_KEY: 'key', STABILITY_BASE_URL: `${upstream.origin}/v2beta` };
    provider = new StabilityProvider().create(environment) as Provider;
    upstream.answer = json({ image: tinyPng().toString('base64'), finish_reason: 'SUCCESS' });
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  const generate = (request: Partial<ImageRequest>, upstreamModel = 'core') =>
    provider.images?.generate(imageRequest(request), providerCall({ upstreamModel })) as Promise<unknown>;

  it('names the model where several share an endpoint', async () => {
    await generate({ size: '1344x768' }, 'sd3.5-large');
    const form = await formOf(upstream.received[0]);
    expect(upstream.received[0]?.url).toBe('/v2beta/stable-image/generate/sd3');
    expect(Object.fromEntries(form)).toEqual({
      prompt: 'a lighthouse',
      output_format: 'png',
      model: 'sd3.5-large',
      aspect_ratio: '16:9',
    });
  });

  it('sends a style preset', async () => {
    await generate({ style: 'comic-book' });
    expect((await formOf(upstream.received[0])).get('style_preset')).toBe('comic-book');
  });

  it('edits the masked area of an input image', async () => {
    await generate({ images: [PNG], mask: { bytes: tinyPng(1), contentType: 'image/png' }, style: 'anime' }, 'inpaint');
    const form = await formOf(upstream.received[0]);
    expect([upstream.received[0]?.url, [...form.keys()]]).toEqual([
      '/v2beta/stable-image/edit/inpaint',
      ['prompt', 'output_format', 'image', 'mask', 'style_preset'],
    ]);
    const [image, mask] = [form.get('image'), form.get('mask')] as [File, File];
    expect(Buffer.from(await image.arrayBuffer())).toEqual(tinyPng());
    expect(Buffer.from(await mask.arrayBuffer())).toEqual(tinyPng(1));
  });

  it.each<[string, Partial<ImageRequest>, string?]>([
    ['quality', { quality: 'high' }],
    ['size', { size: '1000x300' }],
    ['input_images', { images: [PNG] }],
    ['mask', { images: [PNG], mask: PNG }],
    ['size', { images: [PNG], mask: PNG, size: '1024x1024' }, 'inpaint'],
    ['mask', { images: [PNG] }, 'inpaint'],
    ['input_images', { images: [PNG, PNG], mask: PNG }, 'inpaint'],
    ['input_images', {}, 'inpaint'],
  ])('refuses another %s before the call', async (param, option, upstreamModel = 'core') => {
    const error = await providerErrorOf(generate(option, upstreamModel));
    expect([error.code, error.options.param, upstream.received.length]).toEqual(['validation_failed', param, 0]);
  });

  it('reports a withheld image as filtered content', async () => {
    upstream.answer = json({ finish_reason: 'CONTENT_FILTERED' });
    const { options } = await providerErrorOf(generate({}));
    expect(options.details).toMatchObject({ reason: 'content_filtered' });
  });
});
