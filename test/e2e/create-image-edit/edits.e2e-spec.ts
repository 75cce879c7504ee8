import { deflateSync } from 'node:zlib';
import { decode } from 'fast-png';
import { formOf, images, tinyPng } from '../../conformance/media-answers';
import type { CallReply } from '../../harness/gateway';
import { pngChunk, pngFile } from '../../harness/png-file';
import { ImageGateway, PRICES } from '../create-image/image-gateway';

let served: ImageGateway;

beforeAll(async () => {
  served = await ImageGateway.start();
});
afterAll(() => served.stop());
beforeEach(() => {
  served.upstream.answer = images(1);
});

const FIELDS = { model: 'local/images', prompt: 'a hat for the cat', response_format: 'b64_json' };
const blob = (bytes: Buffer): Blob => new Blob([new Uint8Array(bytes)], { type: 'image/png' });
const png = (colour: number): Blob => blob(tinyPng(colour));

/** A form of the given fields; lists become repeated fields. */
function formWith(fields: Record<string, string | Blob | readonly (string | Blob)[] | undefined>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value ?? []].flat()) {
      if (typeof each === 'string') form.append(name, each);
      else form.append(name, each, `${name}.png`);
    }
  }
  return form;
}

const edit = (fields: Parameters<typeof formWith>[0], headers: Record<string, string> = {}): Promise<CallReply> =>
  served.edit(formWith({ ...FIELDS, image: png(1), ...fields }), headers);

/** The request that the upstream received, files as their bytes. */
async function asked(): Promise<[string, string | Buffer][]> {
  const form = await formOf(served.lastAsked);
  return Promise.all(
    [...form].map(async ([name, value]): Promise<[string, string | Buffer]> => [
      name,
      typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()),
    ]),
  );
}

describe('an edit', () => {
  it('by form sends the provider the image, the mask and the fields only', async () => {
    const fields = { n: '1', size: '64x48', quality: 'high', input_fidelity: 'high', user: 'ada', mask: png(2) };
    const { reply, cost } = await served.costOf(() =>
      edit({ ...fields, routing: '{"max_attempts":1}', background: 'auto', 'x-mine': '1' }),
    );
    expect([reply.status, reply.json.usage, cost]).toEqual([
      200,
      { images: 1, x_llm_cost_micro: PRICES.high },
      PRICES.high,
    ]);
    expect(served.lastAsked?.url).toBe('/v1/images/edits');
    expect(new Map(await asked())).toEqual(
      new Map<string, unknown>([
        ['model', 'images'],
        ['prompt', FIELDS.prompt],
        ['n', '1'],
        ['size', '64x48'],
        ['quality', 'high'],
        ['input_fidelity', 'high'],
        ['user', 'ada'],
        ['response_format', 'b64_json'],
        ['image', tinyPng(1)],
        ['mask', tinyPng(2)],
      ]),
    );
  });

  it.each(['image', 'image[]'])('accepts several files as %s, in order', async (name) => {
    const reply = await edit({ image: undefined, [name]: [png(1), png(2), png(3)] });
    expect(reply.status).toBe(200);
    const files = (await asked()).filter(([field]) => field === 'image[]').map(([, bytes]) => bytes);
    expect(files).toEqual([tinyPng(1), tinyPng(2), tinyPng(3)]);
  });

  it('by JSON sends the provider the same', async () => {
    const sources = [tinyPng(1).toString('base64'), `data:image/png;base64,${tinyPng(2).toString('base64')}`];
    const reply = await served.edit({ ...FIELDS, n: 1, input_images: sources });
    expect(reply.status).toBe(200);
    const files = (await asked()).filter(([field]) => field === 'image[]').map(([, bytes]) => bytes);
    expect(files).toEqual([tinyPng(1), tinyPng(2)]);
  });

  it('accepts a prompt of 32,000 characters of any byte length, and refuses a longer one', async () => {
    expect((await edit({ prompt: '😀'.repeat(32_000) })).status).toBe(200);
    const longer = await edit({ prompt: '😀'.repeat(32_001) });
    expect([longer.status, longer.json.error.code, longer.json.error.param]).toEqual([
      400,
      'validation_failed',
      'prompt',
    ]);
  });

  it('returns a URL that serves the image', async () => {
    const reply = await edit({ response_format: undefined });
    const fetched = await fetch(reply.json.data[0].url);
    expect(Buffer.from(await fetched.arrayBuffer())).toEqual(tinyPng(0));
  });

  it('is replayed for its key with any form encoding, and not for another file', async () => {
    const headers = { 'idempotency-key': 'edit-once' };
    const first = await edit({ mask: png(2) }, headers);
    const calls = served.upstream.received.length;
    const again = await served.edit(formWith({ mask: png(2), image: png(1), ...FIELDS }), headers);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    const other = await edit({ mask: png(3) }, headers);
    expect([other.status, other.json.error.code]).toEqual([409, 'idempotency_conflict']);
    expect(served.upstream.received.length).toBe(calls);
  });
});

describe('a mask for a model that takes them in black and white', () => {
  /** A row of three pixels: a mask whose first pixel is transparent, or an image to edit. */
  const row = (type: number, samples: readonly number[], ...others: readonly Buffer[]): Blob =>
    blob(pngFile({ width: 3, height: 1, type }, [samples], ...others));
  const fields = { model: 'local/black-masks', image: row(0, [1, 2, 3]) };
  const bomb = pngChunk('IDAT', deflateSync(Buffer.alloc(64 * 1_048_576)));

  it('reaches the provider with the transparent pixels black', async () => {
    const { reply, cost } = await served.costOf(() => edit({ ...fields, mask: row(4, [9, 0, 9, 255, 9, 127]) }));
    expect([reply.status, cost]).toEqual([200, PRICES.other]);
    const { width, channels, data } = decode(new Map(await asked()).get('mask') as Buffer);
    expect([width, channels, [...data]]).toEqual([3, 1, [0, 255, 0]]);
  });

  it.each<[string, Blob]>([
    ['without transparency', row(2, Array<number>(9).fill(0))],
    ['that is damaged', row(4, [0])],
    ['that decompresses to more than its size', row(4, [9, 0, 9, 255, 9, 127], bomb)],
  ])('is refused %s, at no charge', async (_case, mask) => {
    const calls = served.upstream.received.length;
    const { reply, cost } = await served.costOf(() => edit({ ...fields, mask }));
    expect([reply.status, reply.json.error.code, reply.json.error.param, cost]).toEqual([
      400,
      'validation_failed',
      'mask',
      0,
    ]);
    expect(served.upstream.received.length).toBe(calls);
  });

  it('is refused for a fallback only when the fallback is called', async () => {
    const opaque = { mask: row(2, Array<number>(9).fill(0)), routing: '{"models":["local/black-masks"]}' };
    const withFallback = { ...fields, model: 'local/images', ...opaque };
    expect((await edit(withFallback)).status).toBe(200);
    served.upstream.answer = (response) => response.writeHead(429).end();
    const { reply, cost } = await served.costOf(() => edit(withFallback));
    expect([reply.status, reply.json.error.param, cost]).toEqual([400, 'mask', 0]);
  });
});

describe('400 validation_failed names the field', () => {
  const text = new Blob(['no image'], { type: 'image/png' });
  /** The first bytes of an image of one pixel. */
  const GIF = Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00', 'latin1');

  it.each<[string, Parameters<typeof formWith>[0], string]>([
    ['no image', { image: undefined }, 'image'],
    ['an invalid image', { image: text }, 'image'],
    ['one invalid image among several', { image: [png(1), text] }, 'image[1]'],
    ['an invalid mask', { mask: text }, 'mask'],
    ['a mask that is no PNG', { mask: blob(GIF) }, 'mask'],
    ['a mask of another size', { mask: blob(pngFile({ width: 1, height: 2, type: 0 }, [[0], [0]])) }, 'mask'],
    ['a mask for a model without masks', { model: 'local/unmasked', mask: png(2) }, 'mask'],
    ['a model that does not edit', { model: 'local/plain' }, 'model'],
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['two prompts', { prompt: ['a', 'b'] }, 'prompt'],
    ['an n that is not a number', { n: 'two' }, 'n'],
    ['eleven images', { n: '11' }, 'n'],
    ['routing that is not JSON', { routing: '{' }, 'routing'],
    ['an unknown key in routing', { routing: '{"host":"x"}' }, 'routing.host'],
    ['a file in an unknown field', { photo: png(1) }, 'photo'],
  ])('%s', async (_case, fields, param) => {
    const before = await served.balance();
    const { status, json } = await edit(fields);
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
    expect(await served.balance()).toBe(before);
  });

  it.each<[string, object, string]>([
    ['no images', { input_images: [] }, 'input_images'],
    ['absent images', {}, 'input_images'],
    ['null', { input_images: null }, 'input_images'],
  ])('JSON with %s', async (_case, fields, param) => {
    const { status, json } = await served.edit({ ...FIELDS, ...fields });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
  });
});

it('415 for content that is neither a form nor JSON', async () => {
  const reply = await served.gateway.call('/v1/images/edits', {
    key: served.customer.key,
    headers: { 'content-type': 'image/png' },
    body: tinyPng(),
  });
  expect([reply.status, reply.json.error.code]).toEqual([415, 'unsupported_media_type']);
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});
