import { imageRequest } from '../../../../test/conformance/media-requests';
import { tinyPng } from '../../../../test/conformance/media-answers';
import { providerCall } from '../../../../test/conformance/provider-call';
import type { Quirks } from '../../contract/provider-call';
import { toImageEdit, toImageGeneration } from './to-image-request';

const PNG = { bytes: tinyPng(), contentType: 'image/png' } as const;
const JPEG = { bytes: Buffer.from([0xff, 0xd8, 0xff, 0xe0]), contentType: 'image/jpeg' } as const;

async function formOf(...args: Parameters<typeof toImageEdit>): Promise<FormData> {
  const body = toImageEdit(...args);
  const bytes = Buffer.concat(await body.toStream().toArray());
  expect(body.byteLength).toBe(bytes.length);
  return new Response(bytes, { headers: { 'content-type': body.contentType } }).formData();
}

const formatFor = (quirks: Quirks, delivery: 'bytes' | 'url') =>
  toImageGeneration(imageRequest({ delivery }), providerCall({ quirks }))['response_format'];

describe('toImageGeneration', () => {
  it('sends the requested fields only', () => {
    expect(toImageGeneration(imageRequest(), providerCall())).toEqual({
      model: 'upstream-model',
      prompt: 'a lighthouse',
      n: 1,
      response_format: 'b64_json',
    });
    const full = imageRequest({ count: 3, size: '1024x1024', quality: 'hd', style: 'vivid', user: 'ada' });
    expect(toImageGeneration(full, providerCall({ quirks: { imageResponseFormat: 'none' } }))).toEqual({
      model: 'upstream-model',
      prompt: 'a lighthouse',
      n: 3,
      size: '1024x1024',
      quality: 'hd',
      style: 'vivid',
      user: 'ada',
    });
  });

  it('requests URLs only where the client accepts them and the upstream supports them', () => {
    expect(formatFor({}, 'url')).toBe('url');
    expect(formatFor({}, 'bytes')).toBe('b64_json');
    expect(formatFor({ imageUrls: false }, 'url')).toBe('b64_json');
  });

  it('uses the upstream’s name for the format, or omits it', () => {
    expect(formatFor({ imageResponseFormat: 'base64' }, 'bytes')).toBe('base64');
    expect(formatFor({ imageResponseFormat: 'base64', imageUrls: true }, 'url')).toBe('url');
    expect(formatFor({ imageResponseFormat: 'none', imageUrls: true }, 'url')).toBeUndefined();
  });

  it('omits the end user for upstreams that refuse the field', () => {
    const call = providerCall({ quirks: { dropFields: ['user'] } });
    expect(toImageGeneration(imageRequest({ user: 'ada' }), call)).not.toHaveProperty('user');
  });
});

describe('toImageEdit', () => {
  it('sends one image as `image` and several as a list, with file extensions that match their types', async () => {
    const one = await formOf(imageRequest({ images: [JPEG] }), providerCall());
    expect([one.getAll('image'), one.has('image[]'), one.has('mask')]).toEqual([[expect.any(File)], false, false]);
    const request = imageRequest({ images: [PNG, JPEG], mask: PNG, size: '1024x1024', style: 'vivid' });
    const two = await formOf(request, providerCall());
    const files = [...two.getAll('image[]'), two.get('mask')] as File[];
    expect(files.map(({ name, type }) => [name, type])).toEqual([
      ['image-1.png', 'image/png'],
      ['image-2.jpeg', 'image/jpeg'],
      ['mask.png', 'image/png'],
    ]);
    expect(two.has('image')).toBe(false);
    expect(['prompt', 'size', 'style', 'n'].map((name) => two.get(name))).toEqual([
      'a lighthouse',
      '1024x1024',
      'vivid',
      '1',
    ]);
  });

  it('keeps a prompt that looks like a form boundary in its field', async () => {
    const prompt = '\r\n--gateway\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--gateway--\r\nü';
    const form = await formOf(imageRequest({ images: [PNG], prompt }), providerCall());
    expect([form.get('prompt'), form.getAll('model')]).toEqual([prompt, ['upstream-model']]);
  });
});
