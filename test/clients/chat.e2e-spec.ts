import { CHAT_MODELS, RelayedGateway } from './relayed-gateway';
import { NEWEST_CLIENT } from './official-client';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { PIXEL } from '../harness/public-host';
import type OpenAI from 'openai';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

/** Umlauts, two scripts of three bytes, an emoji of four and one that joins seven code points. */
const MULTI_BYTE = 'Grüße, 世界, Привет नमस्ते 🚀 👩‍👩‍👧‍👦 — naïve';

describe.each(CHAT_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    const request = { model, messages: [{ role: 'user' as const, content: `What does "${MULTI_BYTE}" mean?` }] };
    let client: OpenAI;
    beforeAll(() => {
      client = official.connect(gateway, customer.key);
    });

    it('completes a chat with its cost and request id', async () => {
      const { data, response, request_id } = await client.chat.completions.create(request).withResponse();
      expect(data.object).toBe('chat.completion');
      expect(data.model).toBe(model);
      expect(data).toHaveProperty('system_fingerprint');
      expect(data.choices).toHaveLength(1);
      expect(data.choices[0]).toMatchObject({
        index: 0,
        finish_reason: 'stop',
        logprobs: null,
        message: { role: 'assistant', refusal: null, content: expect.stringContaining(MULTI_BYTE) },
      });
      const usage = data.usage as OpenAI.CompletionUsage & { x_llm_cost_micro: number };
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
      expect(response.headers.get('x-llm-cost-micro')).toBe(String(usage.x_llm_cost_micro));
      expect(request_id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(data).toHaveProperty('_request_id', request_id);
      const records = await gateway.rows('SELECT charged_micro FROM usage_record WHERE id = $1', [
        String(request_id).slice('req_'.length),
      ]);
      expect(records).toEqual([{ charged_micro: String(usage.x_llm_cost_micro) }]);
    });

    it('accepts every role, content part and option of the format', async () => {
      const completion = await client.chat.completions.create({
        model,
        messages: [
          { role: 'developer', content: 'Be brief.' },
          { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
          { role: 'user', content: 'Hello', name: 'ada' },
          { role: 'assistant', content: 'Hello, Ada.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is on this picture?' },
              {
                type: 'image_url',
                image_url: { url: `data:image/png;base64,${PIXEL.toString('base64')}`, detail: 'low' },
              },
            ],
          },
        ],
        n: 1,
        seed: 7,
        temperature: 0.5,
        top_p: 0.9,
        frequency_penalty: 0.1,
        presence_penalty: -0.1,
        logit_bias: { 50256: -100 },
        logprobs: true,
        top_logprobs: 2,
        stop: ['\n\n'],
        max_completion_tokens: 5,
        response_format: { type: 'text' },
        reasoning_effort: 'low',
        user: 'ada',
        store: false,
        metadata: { purpose: 'test' },
      });
      expect(completion.choices[0]?.finish_reason).toBe('length');
      expect(completion.choices[0]?.logprobs?.content).toHaveLength(5);
      expect(completion.usage?.completion_tokens).toBe(5);
    });

    it('streams the same text in uniform chunks, and the usage once, after the finish', async () => {
      const whole = await client.chat.completions.create(request);
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) chunks.push(chunk);

      expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(
        whole.choices[0]?.message.content,
      );
      expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
      expect(new Set(chunks.map(({ id, object, created, model }) => [id, object, created, model].join())).size).toBe(1);
      const finishes = chunks.map((chunk) => chunk.choices[0]?.finish_reason ?? null);
      expect(finishes.filter((reason) => reason !== null)).toEqual(['stop']);
      expect(finishes.at(-2)).toBe('stop');
      expect(chunks.filter((chunk) => chunk.system_fingerprint === null)).toEqual([]);
      expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([chunks.at(-1)]);
      expect(chunks.at(-1)).toMatchObject({
        choices: [],
        usage: {
          prompt_tokens: whole.usage?.prompt_tokens,
          completion_tokens: whole.usage?.completion_tokens,
          total_tokens: whole.usage?.total_tokens,
          x_llm_cost_micro: expect.any(Number),
        },
      });
    });

    it('sends one usage chunk also to a client that requests it', async () => {
      const stream = await client.chat.completions.create({
        ...request,
        stream: true,
        stream_options: { include_usage: true },
      });
      const usages: unknown[] = [];
      for await (const chunk of stream) if (chunk.usage) usages.push(chunk.usage);
      expect(usages).toHaveLength(1);
    });

    it('works with the stream helper, which assembles the completion', async () => {
      const whole = await client.chat.completions.create(request);
      const texts: string[] = [];
      const runner = official.helpers(client).stream(request);
      runner.on('content', (delta) => texts.push(delta));
      const final = await runner.finalChatCompletion();
      const { content } = whole.choices[0]?.message ?? {};
      expect(texts.join('')).toBe(content);
      expect(await runner.finalContent()).toBe(content);
      expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant', content } });
      expect(await runner.totalUsage()).toMatchObject({ total_tokens: whole.usage?.total_tokens });
    });

    it('works with a teed stream and toReadableStream', async () => {
      const stream = await client.chat.completions.create({ ...request, stream: true });
      const [left, right] = stream.tee();
      const lines = (await new Response(left.toReadableStream() as ReadableStream).text()).trim().split('\n');
      let count = 0;
      for await (const _chunk of right) count++;
      expect(lines).toHaveLength(count);
      expect(JSON.parse(lines.at(-1) ?? '').usage.x_llm_cost_micro).toBeGreaterThan(0);
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});
