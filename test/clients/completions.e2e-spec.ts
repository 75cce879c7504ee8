import type OpenAI from 'openai';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { RelayedGateway } from './relayed-gateway';

/** By chat here, by chat over HTTP, and as a completion over HTTP. */
const MODELS = ['mock/chat-1', 'relay/chat-1', 'relay/base-1'];
const PROMPT = 'What does "Grüße, 世界 🚀 👩‍👩‍👧‍👦" mean?';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

describe.each(MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    const request = { model, prompt: PROMPT, max_tokens: 400 };
    let client: OpenAI;
    beforeAll(() => {
      client = official.connect(gateway, customer.key);
    });

    it('completes a text and reports its cost', async () => {
      const { data, response } = await client.completions.create(request).withResponse();
      expect(data).toMatchObject({
        object: 'text_completion',
        model,
        choices: [{ index: 0, finish_reason: 'stop', logprobs: null, text: expect.stringContaining('Grüße, 世界 🚀') }],
      });
      const usage = data.usage as OpenAI.CompletionUsage & { x_llm_cost_micro: number };
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
      expect(response.headers.get('x-llm-cost-micro')).toBe(String(usage.x_llm_cost_micro));
    });

    it('streams the same text and ends with usage', async () => {
      const whole = await client.completions.create({ ...request, seed: 1 });
      const chunks: OpenAI.Completion[] = [];
      for await (const chunk of await client.completions.create({ ...request, seed: 1, stream: true })) {
        chunks.push(chunk);
      }
      expect(chunks.map(({ choices: [choice] }) => choice?.text ?? '').join('')).toBe(whole.choices[0]?.text);
      expect(chunks.map(({ choices: [choice] }) => choice?.finish_reason).filter(Boolean)).toEqual(['stop']);
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    });

    it("gets log probabilities in OpenAI's format", async () => {
      const { choices } = await client.completions.create({ ...request, logprobs: 1, max_tokens: 3 });
      const logprobs = choices[0]?.logprobs;
      expect(logprobs?.tokens?.join('')).toBe(choices[0]?.text);
      expect(logprobs?.text_offset).toHaveLength(3);
    });

    it('gets an error that only one prompt is allowed', async () => {
      const error = await client.completions
        .create({ ...request, prompt: ['one', 'two'] })
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ status: 400, code: 'validation_failed', param: 'prompt' });
    });
  });
});

it('leaves a valid ledger', async () => {
  expect(await gateways.violations()).toEqual([]);
});
