import { embed, embedMany, generateText, type LanguageModel, streamText } from 'ai';
import type { TestCustomer, TestGateway } from '../../harness/gateway';
import { EMBEDDING_MODELS, RelayedGateway } from '../relayed-gateway';
import { recordsOf } from '../traces';
import { compatibleProvider, COMPLETING, openaiProvider, silenceWarnings } from './ai-sdk';
import { expectChargedOnce } from './charges';

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

/** By chat here, and as a completion over HTTP. */
describe.each(['mock/chat-1', 'relay/base-1'])('%s', (id) => {
  describe.each(COMPLETING)('%s for completions', (_title, connect) => {
    let model: LanguageModel;
    beforeEach(() => {
      model = connect(gateway, customer, id);
    });
    const request = { prompt: 'What does "Grüße, 世界 🚀" mean?', seed: 1, maxOutputTokens: 200 };

    it('completes a text, whole and streamed alike', async () => {
      const whole = await generateText({ model, ...request });
      expect(whole.text).toContain('Grüße, 世界 🚀');
      expect(whole.finishReason).toBe('stop');
      const streamed = streamText({ model, ...request });
      const deltas: string[] = [];
      for await (const delta of streamed.textStream) deltas.push(delta);
      expect(deltas.length).toBeGreaterThan(3);
      expect(deltas.join('')).toBe(whole.text);
      expect(await streamed.finishReason).toBe('stop');
      await expectChargedOnce(gateway, customer, [whole.usage, await streamed.usage]);
    });

    it('reports a text cut at the token limit', async () => {
      const { finishReason, usage } = await generateText({ model, ...request, maxOutputTokens: 3 });
      expect(finishReason).toBe('length');
      expect(usage.outputTokens).toBe(3);
    });
  });
});

describe.each(EMBEDDING_MODELS)('%s', (id) => {
  describe.each([
    ['@ai-sdk/openai', openaiProvider],
    ['@ai-sdk/openai-compatible', compatibleProvider],
  ])('%s for embeddings', (_title, provider) => {
    it('embeds one value and many, in order, of any length, and counts tokens', async () => {
      const model = provider(gateway, customer).embeddingModel(id);
      const values = ['The cat sat on the mat.', 'Grüße, 世界 🚀', 'The cat sat.'];
      const many = await embedMany({ model, values });
      expect(many.embeddings.map(({ length }) => length)).toEqual([1536, 1536, 1536]);
      expect(many.usage.tokens).toBeGreaterThan(3);
      for (const [index, value] of values.entries()) {
        const one = await embed({ model, value });
        expect(one.embedding).toEqual(many.embeddings[index]);
        expect(Math.hypot(...one.embedding)).toBeCloseTo(1, 5);
      }
      const short = await embed({ model, value: 'a', dimensions: 8 });
      expect(short.embedding).toHaveLength(8);
      expect(await recordsOf(gateway, customer)).toHaveLength(5);
    });

    it('splits a long list into several calls, each charged once', async () => {
      const model = provider(gateway, customer).embeddingModel(id);
      const values = Array.from({ length: 2_050 }, (_value, index) => `value ${index}`);
      const { embeddings, usage } = await embedMany({ model, values, dimensions: 2 });
      expect(embeddings).toHaveLength(2_050);
      const [last] = (await embedMany({ model, values: values.slice(-1), dimensions: 2 })).embeddings;
      expect(embeddings.at(-1)).toEqual(last);
      const records = await gateway.rows<{ status: number; input_text: string }>(
        'SELECT status, input_text FROM usage_record WHERE organization_id = $1 ORDER BY id',
        [customer.organizationId],
      );
      const tokens = records.slice(0, -1).reduce((sum, record) => sum + Number(record.input_text), 0);
      expect(tokens).toBe(usage.tokens);
      expect(records.length).toBe(3);
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});
