import { imageSize } from 'image-size';
import { tinyPng } from '../../../../test/conformance/media-answers';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import { allowedMs, report } from '../../../../test/faults/figures';
import { systemClock } from '../../../core/time/clock';
import type { ImageRequest, ImageResult } from '../../contract/images';
import { MockImages } from './mock-images';

const SMALL = '64x48';
const images = new MockImages(systemClock);

function requestFor(prompt: string, fields: Partial<ImageRequest> = {}): ImageRequest {
  return {
    prompt,
    count: 1,
    size: SMALL,
    quality: null,
    style: null,
    format: null,
    background: null,
    complexity: null,
    compression: null,
    moderation: null,
    inputFidelity: null,
    user: null,
    images: [],
    mask: null,
    delivery: 'bytes',
    ...fields,
  };
}

function filesOf({ images: made }: ImageResult): Buffer[] {
  return made.map((image) => ('bytes' in image ? image.bytes : Buffer.alloc(0)));
}

const draw = async (prompt: string, fields: Partial<ImageRequest> = {}, call = providerCall()) =>
  filesOf(await images.generate(requestFor(prompt, fields), call));

describe('MockImages', () => {
  it.each([
    ['256x256', 256, 256],
    ['1536x1024', 1536, 1024],
    [null, 1024, 1024],
    ['auto', 1024, 1024],
  ])('makes a PNG of the size %s', async (size, width, height) => {
    const [file = Buffer.alloc(0)] = await draw('A cat', { size });
    expect(imageSize(file)).toMatchObject({ type: 'png', width, height });
  });

  it('makes the same picture for the same request', async () => {
    expect(await draw('A cat', { count: 2 })).toEqual(await draw('A cat', { count: 2 }));
  });

  it.each<[string, Partial<ImageRequest>]>([
    ['A dog', {}],
    ['A cat', { quality: 'high' }],
    ['A cat', { style: 'vivid' }],
  ])('makes a different picture for a different request', async (prompt, fields) => {
    const size = '256x256';
    expect(await draw('A cat', { size })).not.toEqual(await draw(prompt, { size, ...fields }));
  });

  it('makes the requested number of pictures, all different', async () => {
    const files = await draw('A cat', { count: 10 });
    expect(new Set(files.map((file) => file.toString('base64'))).size).toBe(10);
  });

  it('makes a different picture for other input images', async () => {
    const image = (color: number) => ({ bytes: tinyPng(color), contentType: 'image/png' as const });
    const pictures = await Promise.all([
      draw('A cat'),
      draw('A cat', { images: [image(1)] }),
      draw('A cat', { images: [image(2)] }),
      draw('A cat', { images: [image(1)], mask: image(2) }),
    ]);
    expect(new Set(pictures.map(([file]) => file?.toString('base64'))).size).toBe(4);
  });

  it('returns bytes even where a URL is accepted, since it has no host', async () => {
    const { images: made } = await images.generate(requestFor('A cat', { delivery: 'url' }), providerCall());
    expect(made).toEqual([{ bytes: expect.any(Buffer), revisedPrompt: null }]);
  });

  it('yields to the event loop while it draws any number of pictures', async () => {
    const iterationsDuring = async (fields: Partial<ImageRequest>): Promise<number> => {
      const stop = countIterations();
      await draw('A cat in the snow', fields);
      return stop();
    };
    const one = await iterationsDuring({ size: '1536x1024' });
    const ten = await iterationsDuring({ size: '1536x1024', count: 10 });
    report('event loop iterations while the mock draws', { one, ten });
    expect(ten).toBeGreaterThanOrEqual(10);
  });

  it('draws a large picture in 60 ms of CPU time', async () => {
    const tookMs: number[] = [];
    // The best of a few rounds: garbage collection may hit any of them.
    for (let round = 0; round < 5; round++) {
      const before = process.threadCpuUsage();
      await draw('A cat in the snow', { size: '1024x1024' });
      const { user, system } = process.threadCpuUsage(before);
      tookMs.push((user + system) / 1000);
    }
    expect(Math.min(...tookMs)).toBeLessThan(allowedMs(60));
  });
});

/** Counts iterations of the event loop until the returned function is called. */
function countIterations(): () => number {
  let iterations = 0;
  let counting = true;
  const count = (): void => {
    iterations++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  return () => {
    counting = false;
    return iterations;
  };
}

describe('scripts for images', () => {
  const generate = (prompt: string, fields: Partial<ImageRequest> = {}, call = providerCall()) =>
    images.generate(requestFor(prompt, fields), call);

  it('never shows the directive', async () => {
    const { images: made } = await generate('A cat [[mock: delay=0]]');
    expect(filesOf({ images: made, usage: null })).toEqual(await draw('A cat'));
  });

  it.each([
    ['status=429 retry_after=7', 'provider_rate_limited', { retryAfterSeconds: 7 }],
    ['status=500', 'provider_unavailable', {}],
    ['reset_after=0', 'provider_unavailable', { phase: 'headers' }],
    ['garbage', 'provider_error', {}],
    ['unheard_of', 'validation_failed', { param: 'prompt' }],
  ])('maps "%s" to %s', async (directive, code, options) => {
    const error = await providerErrorOf(generate(`A cat [[mock: ${directive}]]`));
    expect(error).toMatchObject({ code, options });
  });

  it('waits as scripted, and ends at the time limit or on abort', async () => {
    const deadlines = { connectMs: 10, firstTokenMs: 20, idleMs: 20, totalMs: 40 };
    const slow = await providerErrorOf(generate('A cat [[mock: delay=10s]]', {}, providerCall({ deadlines })));
    expect(slow.code).toBe('provider_timeout');
    const gone = await providerErrorOf(generate('A cat', {}, providerCall({ signal: AbortSignal.abort() })));
    expect(gone.code).toBe('provider_disconnect');
  });
});
