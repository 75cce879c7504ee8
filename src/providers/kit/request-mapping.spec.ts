import { imageRequest } from '../../../test/conformance/media-requests';
import { providerErrorOf } from '../../../test/conformance/provider-call';
import type { RequestMapping } from '../contract/request-mapping';
import { toImageInput, toUpstreamInput, urlsAt, valuesAt } from './request-mapping';

const MAPPING: RequestMapping = {
  map: {
    prompt: 'prompt',
    duration_seconds: { to: 'duration', format: '{}s' },
    resolution: { to: 'video.quality', values: { '720p': 'hd', '1080p': 3 } },
    sample_rate: { to: 'video.rate', as: 'text' },
    image_url: { to: 'image_urls', as: 'list' },
    input_images: { to: 'references', as: 'list' },
    size: [
      { to: 'image_size', as: 'width_height' },
      { to: 'height', as: 'height' },
    ],
    instrumental: { to: 'length_ms', as: 'milliseconds' },
  },
  fixed: { safety_tolerance: '5', 'video.codec': null },
  output: {},
};

describe("the upstream's input", () => {
  it('has the fields of the mapping, converted, and the fixed ones', () => {
    const fields = { prompt: 'a $& cat', duration_seconds: 8, resolution: '1080p', sample_rate: 44_100, audio: null };
    const images = { image_url: 'data:1', input_images: ['data:2', 'data:3'], size: '1024x768', instrumental: 1.5 };
    expect(toUpstreamInput(MAPPING, fields, images)).toEqual({
      prompt: 'a $& cat',
      duration: '8s',
      video: { codec: null, quality: 3, rate: '44100' },
      image_urls: ['data:1'],
      references: ['data:2', 'data:3'],
      image_size: { width: 1_024, height: 768 },
      height: 768,
      length_ms: 1_500,
      safety_tolerance: '5',
    });
  });

  it('passes the format of images on', () => {
    const map = { prompt: 'prompt', format: 'output_format' };
    expect(toImageInput(imageRequest({ format: 'webp' }), { map, output: {} })).toEqual({
      prompt: 'a lighthouse',
      output_format: 'webp',
    });
  });

  it('leaves out fields that the catalogue settles, and refuses options without a mapping', async () => {
    expect(toUpstreamInput(MAPPING, { audio: true, prompt: 'x' })).not.toHaveProperty('audio');
    for (const [fields, param] of [
      [{ style: 'vivid' }, 'style'],
      [{ resolution: '4k' }, 'resolution'],
      [{ size: 'large' }, 'size'],
    ] as const) {
      const refusal = await providerErrorOf(Promise.resolve().then(() => toUpstreamInput(MAPPING, {}, fields)));
      expect([refusal.code, refusal.options]).toMatchObject(['validation_failed', { param, phase: 'connect' }]);
    }
  });
});

describe('a path of a result', () => {
  const result = { images: [{ url: 'https://a/1' }, { url: 'ftp://a' }, {}], list: [['x']], video: { url: null } };

  it.each([
    ['$.images[*].url', ['https://a/1', 'ftp://a']],
    ['$.images[1].url', ['ftp://a']],
    ['$.list[0]', [['x']]],
    ['$.video.url', []],
    ['$.constructor', []],
    ['$.images.url', []],
    ['$', [result]],
    [undefined, []],
  ])('%s', (path, found) => {
    expect(valuesAt(result, path)).toEqual(found);
  });

  it('selects web addresses only', () => {
    expect(urlsAt(result, '$.images[*].url')).toEqual(['https://a/1']);
  });
});
