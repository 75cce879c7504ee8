import { setImmediate as nextTurn } from 'node:timers/promises';
import { tinyPng } from '../../../../test/conformance/media-answers';
import { imageRequest } from '../../../../test/conformance/media-requests';
import { providerCall, providerErrorOf } from '../../../../test/conformance/provider-call';
import type { ImageResult } from '../../contract/images';
import type { Quirks } from '../../contract/provider-call';
import { NO_USAGE } from '../../contract/usage';
import { ImageReply, toImageEdit, toImageEditJson, toImageGeneration, toImageUsage } from './openai-images';

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
    const chosen = { size: '1024x1024', quality: 'hd', style: 'vivid', format: 'webp', background: 'transparent' };
    const output = { complexity: 'high', compression: 0, moderation: 'low', inputFidelity: 'high' };
    const full = imageRequest({ count: 3, ...chosen, ...output, user: 'ada' });
    expect(toImageGeneration(full, providerCall({ quirks: { imageResponseFormat: 'none' } }))).toEqual({
      model: 'upstream-model',
      prompt: 'a lighthouse',
      n: 3,
      size: '1024x1024',
      quality: 'hd',
      style: 'vivid',
      output_format: 'webp',
      background: 'transparent',
      complexity: 'high',
      output_compression: 0,
      moderation: 'low',
      input_fidelity: 'high',
      user: 'ada',
    });
  });

  it.each([
    ['width_height', '1024x1536', { width: 1024, height: 1536 }],
    ['aspect_ratio', '1024x1536', { aspect_ratio: '2:3' }],
    ['aspect_ratio', 'auto', { size: 'auto' }],
  ] as const)('sends the size as %s (%s)', (imageSize, size, expected) => {
    const body = toImageGeneration(imageRequest({ size }), providerCall({ quirks: { imageSize } }));
    const rest = { model: 'upstream-model', prompt: 'a lighthouse', n: 1, response_format: 'b64_json' };
    expect(body).toEqual({ ...rest, ...expected });
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

type Cut = (bytes: Buffer) => Buffer[];
const pieces =
  (size: number): Cut =>
  (bytes) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
const whole: Cut = (bytes) => [bytes];
const everyByte = pieces(1);

/** Reads a reply as undici delivers it: an exception from `onData` ends it. */
function read(document: string | object, count = 1, cut = whole): Promise<ImageResult> {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  return new Promise((resolve, reject) => {
    const reply = new ImageReply(count, resolve, reject);
    try {
      for (const chunk of cut(Buffer.from(text))) reply.onData(chunk);
    } catch (error) {
      reject(error as Error);
      return;
    }
    reply.onEnd();
  });
}

/** An image with a color whose base64 contains a slash. */
const png = tinyPng(252);
const base64 = png.toString('base64');
const list = (...data: readonly object[]): object => ({
  created: 1,
  data,
  usage: { input_tokens: 5, output_tokens: 9 },
});

describe('ImageReply', () => {
  it.each([
    ['as it is', JSON.stringify(list({ b64_json: base64, revised_prompt: 'größer "b64_json": "x' }))],
    ['indented', JSON.stringify(list({ revised_prompt: 'größer "b64_json": "x', b64_json: base64 }), null, 4)],
    [
      'with escaped slashes',
      JSON.stringify(list({ b64_json: base64, revised_prompt: 'größer "b64_json": "x' })).replaceAll(
        '/',
        String.raw`\/`,
      ),
    ],
    [
      'next to a null URL',
      JSON.stringify(list({ url: null, b64_json: base64, revised_prompt: 'größer "b64_json": "x' })),
    ],
  ])('reads an image written %s, however the bytes are split', async (_name, text) => {
    for (const cut of [whole, everyByte, pieces(7)]) {
      const { images, usage } = await read(text, 1, cut);
      expect(images).toEqual([{ bytes: png, revisedPrompt: 'größer "b64_json": "x' }]);
      expect(usage).toMatchObject({ inputText: 5, outputImage: 9 });
    }
  });

  it('returns no revised prompt when the upstream sends none', async () => {
    const { images } = await read(list({ b64_json: base64, revised_prompt: null }, { b64_json: base64 }), 2);
    expect(images.map(({ revisedPrompt }) => revisedPrompt)).toEqual([null, null]);
  });

  it('passes on a URL where the upstream sends one', async () => {
    const url = 'https://images.example/a.png?sig=%2F';
    expect((await read(list({ url, b64_json: null }))).images).toEqual([{ url, revisedPrompt: null }]);
    expect((await read(list({ url, b64_json: '' }))).images).toEqual([{ url, revisedPrompt: null }]);
  });

  it('returns fewer images than requested but never more, and no usage for discarded ones', async () => {
    const one = { b64_json: base64 };
    expect((await read(list(one, one), 5)).images).toHaveLength(2);
    expect(await read(list(one, one, { b64_json: 'no image' }), 2)).toMatchObject({
      images: [one, one].map(() => ({ bytes: png })),
      usage: null,
    });
  });

  it('keeps the valid images when others are invalid', async () => {
    const { images, usage } = await read(list({ b64_json: '????' }, { b64_json: base64 }, {}), 3);
    expect([images, usage]).toEqual([[{ bytes: png, revisedPrompt: null }], null]);
  });

  it.each([
    ['no list', '{"created":1}'],
    ['an empty list', list()],
    ['a list of texts', `{"data":["${base64}"]}`],
    ['an item that is empty', list({})],
    ['text behind the padding', list({ b64_json: `${base64}!!!!` })],
    ['base64 of something else', list({ b64_json: Buffer.from('<html>').toString('base64') })],
    ['a file URL', list({ url: 'file:///etc/passwd' })],
    ['an invalid URL', list({ url: 'https://' })],
    ['an overlong URL', list({ url: `https://a.example/${'a'.repeat(10_000)}` })],
    ['half a document', JSON.stringify(list({ b64_json: base64 })).slice(0, -5)],
    ['half an item', JSON.stringify(list({ b64_json: base64 })).slice(0, 60)],
    ['invalid JSON', 'upstream connect error'],
    ['nothing', ''],
    ['an endless frame', `{"x":"${'a'.repeat(70_000)}","data":[{"b64_json":"${base64}"}]}`],
  ])('refuses %s', async (_name, document) => {
    const { code, options } = await providerErrorOf(read(document));
    expect([code, options.phase]).toEqual(['provider_error', 'first_token']);
  });

  it('reads no more than 64 MiB', async () => {
    const reply = new ImageReply(
      10,
      () => undefined,
      () => undefined,
    );
    const chunk = Buffer.alloc(1024 * 1024, 'a');
    reply.onData(Buffer.from('{"data":[{"b64_json":"'));
    const readOn = (): void => {
      for (let mebibytes = 0; mebibytes < 64; mebibytes++) reply.onData(chunk);
    };
    expect(readOn).toThrow('longer than 64 MiB');
  });

  it('maps an error inside a reply with status 200', async () => {
    const error = { code: 'content_policy_violation', message: 'no' };
    const { code, options } = await providerErrorOf(read({ error }));
    expect([code, options.details?.['reason']]).toEqual(['validation_failed', 'content_filtered']);
  });

  it('reports images that moderation withholds as filtered content, unless others remain', async () => {
    const withheld = { url: '', b64_json: null, respect_moderation: false };
    const { code, options } = await providerErrorOf(read(list({}, withheld), 2));
    expect([code, options.fallback, options.details?.['reason']]).toEqual([
      'validation_failed',
      false,
      'content_filtered',
    ]);
    expect((await read(list(withheld, { b64_json: base64 }), 2)).images).toHaveLength(1);
  });

  it('never blocks the event loop for longer than one of ten images takes', async () => {
    const image = Buffer.concat([tinyPng(), Buffer.alloc(2_400_000, 1)]).toString('base64');
    const bytes = Buffer.from(JSON.stringify(list(...Array.from({ length: 10 }, () => ({ b64_json: image })))));
    // Each image is a tenth of the work; decoding all thirty megabytes at the end would be one step. The best round
    // counts: garbage collection and other processes only lengthen a step.
    let least = 1;
    for (let round = 0; round < 20 && least >= 0.5; round++) least = Math.min(least, await longestShare(bytes));
    expect(least).toBeLessThan(0.5);
  });

  it('interleaves with other replies, so that many at once do not block the event loop', async () => {
    const image = Buffer.concat([tinyPng(), Buffer.alloc(400_000)]).toString('base64');
    const bytes = Buffer.from(JSON.stringify(list({ b64_json: image })));
    const read: ImageResult[] = [];
    for (let reply = 0; reply < 5; reply++) {
      const one = new ImageReply(1, (result) => read.push(result), throwError);
      one.onData(bytes);
      one.onEnd();
    }
    const readByTurn: number[] = [read.length];
    while (read.length < 5 && readByTurn.length < 100) {
      const before = read.length;
      await nextTurn();
      readByTurn.push(read.length - before);
    }
    expect([read.length, Math.max(...readByTurn)]).toEqual([5, 1]);
  });
});

function throwError(error: Error): never {
  throw error;
}

/** The longest step's share of all work. The CPU time of a thread is too coarse for steps of a millisecond. */
async function longestShare(bytes: Buffer): Promise<number> {
  let longest = 0;
  let total = 0;
  await new Promise((resolve, reject) => {
    const reply = new ImageReply(10, resolve, reject);
    const measured = (step: () => void): void => {
      const before = performance.now();
      step();
      const duration = performance.now() - before;
      longest = Math.max(longest, duration);
      total += duration;
    };
    for (const chunk of pieces(65_536)(bytes)) measured(() => reply.onData(chunk));
    measured(() => reply.onEnd());
  });
  return longest / total;
}

describe('toImageUsage', () => {
  it.each([
    [
      { input_tokens: 50, output_tokens: 200, input_tokens_details: { text_tokens: 10, image_tokens: 40 } },
      { inputText: 10, inputImage: 40, outputImage: 200 },
    ],
    [
      { input_tokens: 5, output_tokens: 9, output_tokens_details: { image_tokens: 6, text_tokens: 3 } },
      { inputText: 5, outputText: 3, outputImage: 6 },
    ],
    [
      { input_tokens: 5, output_tokens: 9 },
      { inputText: 5, outputImage: 9 },
    ],
    [
      { input_tokens: 5, output_tokens: 9, input_tokens_details: { image_tokens: 70 } },
      { inputImage: 5, outputImage: 9 },
    ],
    [
      { input_tokens: 5, output_tokens: 9, input_tokens_details: { image_tokens: -7 } },
      { inputText: 5, outputImage: 9 },
    ],
  ])('splits %j into classes that sum to its totals', (usage, expected) => {
    expect(toImageUsage(usage)).toEqual({ ...NO_USAGE, ...expected });
  });

  it.each([
    [undefined],
    [null],
    [{}],
    [{ input_tokens: 5 }],
    [{ input_tokens: '5', output_tokens: 1 }],
    [{ input_tokens: -1, output_tokens: 1 }],
  ])('ignores implausible usage %j', (usage) => expect(toImageUsage(usage)).toBeNull());
});

describe('toImageEditJson', () => {
  const source = { bytes: Buffer.from('image'), contentType: 'image/png' } as const;
  const url = 'data:image/png;base64,aW1hZ2U=';
  const edit = (images: number, quirks: Quirks = { imageEdits: 'json', imageResponseFormat: 'none' }, mask = false) =>
    JSON.parse(
      toImageEditJson(
        imageRequest({ images: Array.from({ length: images }, () => source), mask: mask ? source : null }),
        providerCall({ quirks }),
      ),
    ) as unknown;

  it('sends one image, or several, as data URLs', () => {
    const shared = { model: 'upstream-model', prompt: 'a lighthouse', n: 1 };
    expect(edit(1)).toEqual({ ...shared, image: { type: 'image_url', url } });
    expect(edit(2)).toEqual({
      ...shared,
      images: [
        { type: 'image_url', url },
        { type: 'image_url', url },
      ],
    });
  });

  it('refuses masks, and input images where there are none', () => {
    expect(() => edit(1, { imageEdits: 'json' }, true)).toThrow('mask');
    expect(() => edit(1, { imageEdits: 'none' })).toThrow('input images');
  });
});

describe('the charge that a vendor reports with its images', () => {
  it('is read from ticks, with or without tokens', () => {
    expect(toImageUsage({ cost_in_usd_ticks: 200_000_000 })).toEqual({ ...NO_USAGE, vendorCostMicro: 20_000 });
    const counted = toImageUsage({ cost_in_usd_ticks: 5, input_tokens: 3, output_tokens: 4 });
    expect(counted).toMatchObject({ inputText: 3, outputImage: 4, vendorCostMicro: 0.0005 });
    expect(toImageUsage({ cost_in_usd_ticks: 0 })).toBeNull();
  });
});
