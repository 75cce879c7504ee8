import { FakeUpstream } from '../../../../test/conformance/fake-upstream';
import { formOf, json, tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { PNG } from '../../../../test/conformance/media-uses';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ImageFile, ImageRequest } from '../../contract/images';
import type { Provider } from '../../contract/provider';
import { IdeogramProvider } from './ideogram.module';

const MODEL_3 = 'ideogram-v3';
const GENERATE_45 = 'image/generate/ideogram-4-5';
const EDIT_45 = 'image/precise-edit/ideogram-4-5';
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
  const generate = (request: Partial<ImageRequest>, upstreamModel = MODEL_3) =>
    provider.images?.generate(imageRequest(request), providerCall({ upstreamModel })) as Promise<unknown>;

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

  it('requests an exact size if the model supports it', async () => {
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

  it('generates by Ideogram 4.5 in an exact size, or in one that Ideogram chooses', async () => {
    await generate({ size: '2496x1664', quality: 'low', count: 2 }, GENERATE_45);
    await generate({}, GENERATE_45);
    expect(upstream.received.map(({ url }) => url)).toEqual(Array(2).fill('/v2/image/generate/ideogram-4-5'));
    const forms = await Promise.all(upstream.received.map((received) => formOf(received)));
    expect(forms.map((form) => Object.fromEntries(form))).toEqual([
      { prompt: 'a lighthouse', num_images: '2', quality: 'low', size: '2496x1664' },
      { prompt: 'a lighthouse', num_images: '1', quality: 'medium' },
    ]);
  });

  it('edits an image by Ideogram 4.5, with references and a mask', async () => {
    await generate({ images: [PNG, PNG, PNG, PNG], mask: PNG, quality: 'high' }, EDIT_45);
    const [received] = upstream.received;
    expect([received?.url, [...(await formOf(received)).keys()]]).toEqual([
      '/v2/image/precise-edit/ideogram-4-5',
      ['prompt', 'num_images', 'quality', 'image', ...Array(3).fill('reference_images'), 'mask'],
    ]);
  });

  it.each<[string, Partial<ImageRequest>, string]>([
    ['size', { images: [PNG], mask: PNG, size: '1024x1024' }, MODEL_3],
    ['input_images', { images: [PNG, PNG] }, MODEL_3],
    ['size', { size: '1000x150' }, MODEL_3],
    ['quality', { quality: 'ultra' }, MODEL_3],
    ['style', { style: 'baroque' }, MODEL_3],
    ['style', { style: 'design' }, GENERATE_45],
    ['quality', { quality: 'ultra' }, GENERATE_45],
    ['input_images', { images: [PNG] }, GENERATE_45],
    ['input_images', {}, EDIT_45],
    ['size', { images: [PNG], size: '1024x1024' }, EDIT_45],
    ['input_images', { images: Array<ImageFile>(5).fill(PNG), mask: PNG }, EDIT_45],
  ])('refuses an unsupported %s before the call', async (param, option, model) => {
    const { code, options } = await providerErrorOf(generate(option, model));
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
