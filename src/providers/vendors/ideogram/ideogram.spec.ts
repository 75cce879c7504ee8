import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { formOf, json, tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { PNG } from '../../../../test/conformance/media-uses';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ImageRequest } from '../../contract/images';
import type { Provider } from '../../contract/provider';
import { IdeogramProvider } from './ideogram.module';

const URL_OF_ONE = 'https://ideogram.ai/api/images/ephemeral/one.png?exp=1';

describe('IdeogramImages', () => {
  let upstream: FakeUpstream;
  let provider: Provider;
  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const environment = { IDEOGRAM_API_KEY: 'key', IDEOGRAM_BASE_URL: `${upstream.origin}/v1` };
    provider = new IdeogramProvider().create(environment) as Provider;
    upstream.answer = json({ data: [{ url: URL_OF_ONE, prompt: 'a lighthouse', is_image_safe: true }] });
  });
  afterEach(async () => {
    await provider.close();
    await upstream.stop();
  });
  const generate = (request: Partial<ImageRequest>) =>
    provider.images?.generate(
      imageRequest(request),
      providerCall({ upstreamModel: 'ideogram-v3' }),
    ) as Promise<unknown>;

  it('generates by a form, with the key in its own header', async () => {
    await generate({ size: '1536x1024', quality: 'high', style: 'design', count: 3 });
    const [received] = upstream.received;
    expect([received?.url, received?.headers['api-key'], received?.headers.authorization]).toEqual([
      '/v1/ideogram-v3/generate',
      'key',
      undefined,
    ]);
    expect(Object.fromEntries(await formOf(received))).toEqual({
      prompt: 'a lighthouse',
      num_images: '3',
      rendering_speed: 'QUALITY',
      aspect_ratio: '3x2',
      style_type: 'DESIGN',
    });
  });

  it('asks for an exact size where it can', async () => {
    await generate({ size: '1344x768' });
    const form = await formOf(upstream.received[0]);
    expect([form.get('resolution'), form.has('aspect_ratio')]).toEqual(['1344x768', false]);
  });

  it('remixes an input image', async () => {
    await generate({ images: [PNG] });
    const [received] = upstream.received;
    const form = await formOf(received);
    expect([received?.url, form.get('rendering_speed')]).toEqual(['/v1/ideogram-v3/remix', 'DEFAULT']);
    expect(Buffer.from(await (form.get('image') as File).arrayBuffer())).toEqual(tinyPng());
  });

  it('edits the masked area of an input image, in the size of the image', async () => {
    await generate({ images: [PNG], mask: { bytes: tinyPng(1), contentType: 'image/png' }, count: 2 });
    const [received] = upstream.received;
    const form = await formOf(received);
    expect([received?.url, [...form.keys()]]).toEqual([
      '/v1/ideogram-v3/inpaint',
      ['prompt', 'num_images', 'rendering_speed', 'image', 'mask'],
    ]);
    const [image, mask] = [form.get('image'), form.get('mask')] as [File, File];
    expect(Buffer.from(await image.arrayBuffer())).toEqual(tinyPng());
    expect(Buffer.from(await mask.arrayBuffer())).toEqual(tinyPng(1));
  });

  it.each<[string, Partial<ImageRequest>]>([
    ['size', { images: [PNG], mask: PNG, size: '1024x1024' }],
    ['input_images', { images: [PNG, PNG] }],
    ['size', { size: '1000x150' }],
    ['quality', { quality: 'ultra' }],
    ['style', { style: 'baroque' }],
  ])('refuses an unsupported %s before the call', async (param, option) => {
    const { code, options } = await providerErrorOf(generate(option));
    expect([code, options.param, upstream.received.length]).toEqual(['validation_failed', param, 0]);
  });

  it('delivers the safe images, and a rewritten prompt', async () => {
    const unsafe = { url: null, prompt: 'x', is_image_safe: false };
    upstream.answer = json({ data: [unsafe, { url: URL_OF_ONE, prompt: 'a tall lighthouse', is_image_safe: true }] });
    await expect(generate({ count: 2 })).resolves.toEqual({
      images: [{ url: URL_OF_ONE, revisedPrompt: 'a tall lighthouse' }],
      usage: null,
    });
  });

  it('reports content that is filtered before or after the generation', async () => {
    const answers = [
      json({ error: 'Prompt failed safety check' }, 422),
      json({ data: [{ url: null, is_image_safe: false }] }),
    ];
    for (const answer of answers) {
      upstream.answer = answer;
      const { code, options } = await providerErrorOf(generate({}));
      expect([code, options.fallback, options.details]).toMatchObject([
        'validation_failed',
        false,
        { reason: 'content_filtered' },
      ]);
    }
  });
});
