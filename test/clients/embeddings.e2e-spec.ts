import type OpenAI from 'openai';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { EMBEDDING_MODELS, RelayedGateway } from './relayed-gateway';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const INPUT = ['The cat sat on the mat.', 'Grüße, 世界 🚀'];

describe.each(EMBEDDING_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    let client: OpenAI;
    beforeAll(() => {
      client = official.connect(gateway, customer.key);
    });

    const embed = async (fields: Partial<OpenAI.EmbeddingCreateParams> = {}): Promise<OpenAI.CreateEmbeddingResponse> =>
      client.embeddings.create({ model, input: INPUT, ...fields });

    it('gets vectors of numbers, though the client requests base64 by default', async () => {
      const { data, response } = await client.embeddings.create({ model, input: INPUT }).withResponse();
      expect(data).toMatchObject({ object: 'list', model });
      expect(data.data.map(({ index, object }) => [index, object])).toEqual([
        [0, 'embedding'],
        [1, 'embedding'],
      ]);
      for (const { embedding } of data.data) {
        expect(embedding).toHaveLength(1536);
        expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
      }
      const usage = data.usage as typeof data.usage & { x_llm_cost_micro: number };
      expect(usage.total_tokens).toBe(usage.prompt_tokens);
      expect(response.headers.get('x-llm-cost-micro')).toBe(String(usage.x_llm_cost_micro));
    });

    it('gets the same numbers in either format', async () => {
      const vectors = await Promise.all(
        [undefined, 'float', 'base64'].map(async (format) => {
          const encoding = format === undefined ? {} : { encoding_format: format as 'float' | 'base64' };
          const { data } = await embed({ ...encoding, dimensions: 64 });
          return data.map(({ embedding }) => (typeof embedding === 'string' ? floatsOf(embedding) : embedding));
        }),
      );
      expect(vectors[0]).toEqual(vectors[1]);
      expect(vectors[2]).toEqual(vectors[1]);
      expect(vectors[1]?.[0]).toHaveLength(64);
    });

    it('accepts token ids', async () => {
      const { data } = await embed({ input: [[1, 2, 3], [4]], dimensions: 4 });
      expect(data).toHaveLength(2);
    });

    it('gets an error that names the empty input', async () => {
      const error = await embed({ input: ['a', ''] }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(official.sdk.BadRequestError);
      expect(error).toMatchObject({ status: 400, code: 'validation_failed', param: 'input[1]' });
    });
  });
});

/** A client that explicitly requests base64 returns it undecoded. */
function floatsOf(base64: string): number[] {
  return [...new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer)];
}

it('leaves a valid ledger', async () => {
  expect(await gateways.violations()).toEqual([]);
});
