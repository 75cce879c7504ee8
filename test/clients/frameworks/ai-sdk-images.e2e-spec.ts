import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai';
import { generateImage, type ImageModel } from 'ai';
import { imageSize } from 'image-size';
import { tinyPng } from '../../conformance/media-answers';
import type { TestCustomer, TestGateway } from '../../harness/gateway';
import { IMAGE_MODELS, RelayedGateway } from '../relayed-gateway';
import { recordsOf } from '../traces';
import { compatibleProvider, silenceWarnings } from './ai-sdk';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  silenceWarnings();
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const PRICE = 4_000;
const PIXELS = { type: 'png', width: 256, height: 256 };
const dimensionsOf = (bytes: Uint8Array): object => {
  const { type, width, height } = imageSize(bytes);
  return { type, width, height };
};

/** The SDK expects inline images from an edit, as its vendor sends them, and has no setting to request them. */
function inlineProvider({ url }: TestGateway, { key }: TestCustomer): OpenAIProvider {
  return createOpenAI({
    baseURL: `${url}/v1`,
    apiKey: key,
    fetch: (address, init) => {
      if (init?.body instanceof FormData) init.body.set('response_format', 'b64_json');
      return fetch(address, init);
    },
  });
}

describe.each(IMAGE_MODELS)('%s', (id) => {
  describe.each<[string, () => ImageModel]>([
    ['@ai-sdk/openai', () => inlineProvider(gateway, customer).image(id)],
    ['@ai-sdk/openai-compatible', () => compatibleProvider(gateway, customer).imageModel(id)],
  ])('%s', (_title, connect) => {
    it('generates images, inline or as a URL', async () => {
      const { images, image } = await generateImage({
        model: connect(),
        prompt: 'A cat in a hat',
        n: 2,
        size: '256x256',
      });
      expect(images.map(({ uint8Array }) => dimensionsOf(uint8Array))).toEqual([PIXELS, PIXELS]);
      expect(image.mediaType).toBe('image/png');
      const charges = (await recordsOf(gateway, customer)).map(({ charged_micro: micro }) => Number(micro));
      expect(charges.reduce((sum, micro) => sum + micro)).toBe(2 * PRICE);
    });

    it('edits images', async () => {
      const prompt = { text: 'Add a hat', images: [tinyPng(1), tinyPng(2)], mask: tinyPng(3) };
      const { image } = await generateImage({ model: connect(), prompt, size: '256x256' });
      expect(dimensionsOf(image.uint8Array)).toEqual(PIXELS);
    });

    it('does not retry refused requests', async () => {
      const call = generateImage({ model: connect(), prompt: 'A cat', size: '64x64' });
      await expect(call).rejects.toMatchObject({ statusCode: 400, isRetryable: false });
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});
