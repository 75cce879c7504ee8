import { imageSize } from 'image-size';
import type OpenAI from 'openai';
import { tinyPng } from '../conformance/media-answers';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { IMAGE_MODELS, RelayedGateway } from './relayed-gateway';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const SIZE = '256x256';
const PIXELS = { type: 'png', width: 256, height: 256 };
const PRICE = 4_000;

type Reply = OpenAI.ImagesResponse;

const dimensionsOf = (bytes: Buffer): object => {
  const { type, width, height } = imageSize(bytes);
  return { type, width, height };
};
const inlineOf = ({ data = [] }: Reply): object[] =>
  data.map(({ b64_json: base64 }) => dimensionsOf(Buffer.from(base64 ?? '', 'base64')));

describe.each(IMAGE_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    let client: OpenAI;
    const file = (name: string, colour: number): Promise<File> =>
      official.sdk.toFile(tinyPng(colour), name, { type: 'image/png' });
    beforeAll(() => {
      client = official.connect(gateway, customer.key);
    });

    it('generates images that can be fetched from their URLs', async () => {
      const { data: reply, response } = await client.images
        .generate({ model, prompt: 'A cat in a hat', size: SIZE, n: 2 })
        .withResponse();
      expect(reply.data).toHaveLength(2);
      for (const item of reply.data ?? []) {
        expect(Object.keys(item)).toEqual(['url']);
        const fetched = await fetch(item.url ?? '');
        expect(fetched.headers.get('content-type')).toBe('image/png');
        expect(dimensionsOf(Buffer.from(await fetched.arrayBuffer()))).toEqual(PIXELS);
      }
      expect(reply.usage).toEqual({ images: 2, x_llm_cost_micro: 2 * PRICE });
      expect(response.headers.get('x-llm-cost-micro')).toBe(String(2 * PRICE));
    });

    it('generates inline images', async () => {
      const reply = await client.images.generate({
        model,
        prompt: 'Grüße, 世界 🚀',
        size: SIZE,
        quality: 'medium',
        response_format: 'b64_json',
        user: 'ada',
      });
      expect(inlineOf(reply as Reply)).toEqual([PIXELS]);
    });

    it('edits one file, several files, and the area that a mask leaves open', async () => {
      const common = { model, prompt: 'Add a hat', size: SIZE, response_format: 'b64_json', n: 1 } as const;
      const one = await client.images.edit({ ...common, image: await file('cat.png', 1) });
      const several = await client.images.edit({ ...common, image: [await file('a.png', 1), await file('b.png', 2)] });
      const masked = await client.images.edit({
        ...common,
        image: await file('cat.png', 1),
        mask: await file('mask.png', 2),
      });
      for (const reply of [one, several, masked]) expect(inlineOf(reply as Reply)).toEqual([PIXELS]);
    });

    it('routes an edit like a generation, with object fields spread over the form', async () => {
      const unroutable = { routing: { only: ['unknown'], allow_fallbacks: false, max_price: { request: 1 } } };
      // Version 4 sends a form as a stream, which cannot be sent again.
      const once = { maxRetries: 0 };
      const outcomes = [
        client.images.generate({ model, prompt: 'A cat', ...unroutable } as never, once),
        client.images.edit({ model, prompt: 'A cat', image: await file('cat.png', 1), ...unroutable } as never, once),
      ].map((call) => call.catch((thrown: { code?: unknown }) => thrown.code));
      expect(await Promise.all(outcomes)).toEqual(['no_provider_available', 'no_provider_available']);
    });

    it('gets an error that names the field', async () => {
      const tooMany = client.images.generate({ model, prompt: 'A cat', n: 11 });
      const noImage = client.images.edit({
        model,
        prompt: 'A cat',
        image: await official.sdk.toFile(Buffer.from('no image'), 'cat.png', { type: 'image/png' }),
      });
      for (const [call, param] of [
        [tooMany, 'n'],
        [noImage, 'image'],
      ] as const) {
        const error: unknown = await call.catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(official.sdk.BadRequestError);
        expect(error).toMatchObject({ status: 400, code: 'validation_failed', param });
      }
    });
  });
});

it('leaves a valid ledger', async () => {
  expect(await gateways.violations()).toEqual([]);
});
