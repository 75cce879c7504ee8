/**
 * Models behind upstreams of the format of chat completions, through the official client. The test scripts the
 * upstream.
 */
import type OpenAI from 'openai';
import { chunk, sse } from '../conformance/chat-chunks';
import { FakeUpstream } from '../conformance/fake-upstream';
import { TestGateway, type TestCustomer } from '../harness/gateway';
import { createCatalog } from '../harness/upstream-models';
import { NEWEST_CLIENT } from './official-client';
import { heldMicro, recordsOf } from './traces';

interface Step {
  readonly reasoning: string;
  readonly text?: string;
  readonly calls?: readonly (readonly [id: string, day: number])[];
}
interface Sent {
  readonly messages: readonly Record<string, unknown>[];
}

const PRICES = [
  {
    effective_from: '2026-01-01',
    source: 'made up',
    checked_at: '2026-01-01',
    tokens: { per_1m_micro: { input: 1_000_000, cache_read: 100_000, output: 2_000_000 } },
  },
];
const model = (id: string, provider: string, features: object): object => ({
  id,
  modality: 'text',
  input_modalities: ['text', 'image', 'pdf'],
  output_modalities: ['text'],
  context: 32_768,
  max_output: 8_192,
  features,
  deployments: [{ provider, upstream_model: 'one' }],
  prices: PRICES,
});
const catalog = createCatalog([
  model('local/reasoner', 'deepseek', { tools: true, reasoning: ['high'] }),
  model('local/reader', 'openai-compatible', { vision: true }),
]);
/** https://api-docs.deepseek.com/api/create-chat-completion */
const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 12,
  prompt_cache_hit_tokens: 10,
  prompt_cache_miss_tokens: 20,
  completion_tokens_details: { reasoning_tokens: 5 },
};
/** 20 plain and 10 cached tokens, and 12 of output. */
const COST = 20 + 1 + 24;

let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await TestGateway.start({
    DEEPSEEK_API_KEY: 'sk-of-the-operator',
    DEEPSEEK_BASE_URL: upstream.origin,
    OPENAI_COMPATIBLE_BASE_URL: upstream.origin,
    CATALOG_DIR: catalog.path,
  });
});
beforeEach(async () => {
  upstream.received.length = 0;
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

const sentBodies = (): Sent[] => upstream.received.map(({ body }) => JSON.parse(body) as Sent);

/** Answers by steps. Refuses an answer of the current conversation without its reasoning, as the vendor does. */
function play(steps: readonly Step[], stream: boolean): void {
  let next = 0;
  upstream.answer = (response, { body }) => {
    const { messages } = JSON.parse(body) as Sent;
    if (messages.some(({ role, reasoning_content: reasoning }) => role === 'assistant' && !reasoning)) {
      const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
      return response.writeHead(400).end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
    }
    const { reasoning, text = null, calls = [] } = steps[next++] as Step;
    const toolCalls = calls.map(([id, day], index) => ({
      index,
      id,
      type: 'function',
      function: { name: 'weather', arguments: `{"day":${day}}` },
    }));
    const reason = calls.length > 0 ? 'tool_calls' : 'stop';
    if (!stream) {
      const message = {
        role: 'assistant',
        content: text,
        reasoning_content: reasoning,
        ...(calls.length > 0 && { tool_calls: toolCalls }),
      };
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: reason }], usage: USAGE }));
    }
    return response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        ': keep-alive\n\n' +
          sse(
            chunk({ role: 'assistant', content: null, reasoning_content: '' }),
            ...[...reasoning].map((piece) => chunk({ content: null, reasoning_content: piece })),
            ...[...(text ?? '')].map((content) => chunk({ content, reasoning_content: null })),
            ...toolCalls.flatMap(({ function: { name, arguments: json }, ...call }) => [
              chunk({ tool_calls: [{ ...call, function: { name, arguments: '' } }] }),
              chunk({ tool_calls: [{ index: call.index, function: { arguments: json.slice(0, 3) } }] }),
              chunk({ tool_calls: [{ index: call.index, function: { arguments: json.slice(3) } }] }),
            ]),
            { ...chunk({ content: '' }, { finish_reason: reason }), usage: USAGE },
            '[DONE]',
          ),
      );
  };
}

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  const connect = (): OpenAI => official.connect(gateway, customer.key, { maxRetries: 0 });

  it.each([false, true])(
    'runs parallel tools over three steps, in which the reasoning comes back, streamed: %s',
    async (stream) => {
      play(
        [
          {
            reasoning: 'Größe? Two days.',
            calls: [
              ['call_1', 1],
              ['call_2', 2],
            ],
          },
          { reasoning: 'One more.', calls: [['call_3', 3]] },
          { reasoning: 'Rain.', text: 'A raincoat.' },
        ],
        stream,
      );
      const days: number[] = [];
      const request = {
        model: 'local/reasoner',
        messages: [{ role: 'user' as const, content: 'Which coat?' }],
        tools: [
          {
            type: 'function' as const,
            function: {
              name: 'weather',
              description: 'Weather of a day',
              parameters: { type: 'object', properties: { day: { type: 'number' } } },
              parse: JSON.parse as (input: string) => { day: number },
              function: ({ day }: { day: number }) => `rain on ${days.push(day)}`,
            },
          },
        ],
      };
      const helpers = official.helpers(connect());
      const run = stream ? helpers.runTools({ ...request, stream }) : helpers.runTools({ ...request, stream: false });
      expect([await run.finalContent(), days]).toEqual(['A raincoat.', [1, 2, 3]]);

      const answers = sentBodies()[2]?.messages.filter(({ role }) => role === 'assistant');
      expect(answers).toMatchObject([
        { reasoning_content: 'Größe? Two days.', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
        { reasoning_content: 'One more.', tool_calls: [{ id: 'call_3' }] },
      ]);
      const records = await recordsOf(gateway, customer);
      expect(records.map(({ charged_micro: micro, usage_estimated: estimated }) => [Number(micro), estimated])).toEqual(
        Array.from({ length: 3 }, () => [COST, false]),
      );
      expect(await heldMicro(gateway, customer)).toBe(0);
    },
  );

  it('counts reasoning apart from text, and cached tokens apart from new ones', async () => {
    play([{ reasoning: 'Hm.', text: 'Hello' }], false);
    const { choices, usage } = await connect().chat.completions.create({
      model: 'local/reasoner',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(choices[0]?.message).toMatchObject({ content: 'Hello', reasoning_content: 'Hm.' });
    expect(usage).toMatchObject({
      prompt_tokens: 30,
      completion_tokens: 12,
      prompt_tokens_details: { cached_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 5 },
      x_llm_cost_micro: COST,
    });
  });

  it('sends images and PDF files as they are', async () => {
    play([{ reasoning: '', text: 'A dot.' }], false);
    const content: OpenAI.ChatCompletionContentPart[] = [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' } },
      { type: 'text', text: 'What is this?' },
    ];
    const { choices } = await connect().chat.completions.create({
      model: 'local/reader',
      messages: [{ role: 'user', content }],
    });
    expect(choices[0]?.message.content).toBe('A dot.');
    expect(sentBodies()[0]?.messages).toEqual([{ role: 'user', content }]);
  });
});
