/** Chat over an upstream's Responses API, as the official client sees it. The test scripts the upstream. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { BadRequestError } from 'openai';
import { FakeUpstream, type ReceivedRequest } from '../conformance/fake-upstream';
import {
  callSteps,
  completed,
  created,
  done,
  failed,
  functionCall,
  message,
  outputText,
  reasoning,
  reasoningSteps,
  response,
  type Step,
  stream,
  textDelta,
} from '../conformance/upstream-responses';
import { type TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';

const PRICES = [
  {
    effective_from: '2026-01-01',
    source: 'made up',
    checked_at: '2026-01-01',
    tokens: { per_1m_micro: { input: 1_000_000, cache_read: 100_000, cache_write_5m: 2_000_000, output: 10_000_000 } },
  },
];
/** 16 plain, 10 cached and 4 written tokens, and 12 of output, rounded up. */
const COST = 16 + 1 + 8 + 120;

function modelsOf(suffix: string): object[] {
  const model = (id: string, deployments: object[]): object => ({
    id,
    modality: 'text',
    input_modalities: ['text', 'image', 'pdf'],
    output_modalities: ['text'],
    context: 32_768,
    max_output: 8_192,
    features: { tools: true, parallel_tools: true, vision: true, json_schema: true, reasoning: ['low', 'high'] },
    deployments: deployments.map((each) => ({ provider: 'openai', upstream_model: `${id}-${suffix}`, ...each })),
    prices: PRICES,
  });
  const responses = { dialect: 'openai-responses', quirks: { reasoningSummary: 'auto' } };
  return [
    model('local/split', [{ when: { tools: false } }, { when: { tools: true }, ...responses }]),
    model('local/responses', [responses]),
  ];
}

let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;
let catalogDir: string;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  catalogDir = mkdtempSync(join(tmpdir(), 'gateway-responses-'));
  writeFileSync(join(catalogDir, 'local.json'), JSON.stringify(modelsOf(randomUUID())));
  gateway = await TestGateway.start({
    OPENAI_BASE_URL: `${upstream.origin}/v1`,
    OPENAI_API_KEY: 'sk-of-the-operator',
    CATALOG_DIR: catalogDir,
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  rmSync(catalogDir, { recursive: true, force: true });
});
beforeEach(() => {
  upstream.received.length = 0;
});

const replyWith = (...output: ReturnType<typeof response>['output']): void => {
  upstream.answer = (answer) =>
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response({ output })));
};
const streamWith = (...steps: readonly Step[]): void => {
  upstream.answer = (answer) =>
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream(created(), ...steps));
};
const lastRequest = (): ReceivedRequest => upstream.received.at(-1) as ReceivedRequest;
const lastBody = (): Record<string, unknown> => JSON.parse(lastRequest().body) as Record<string, unknown>;

const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { day: { type: 'number' } } } },
};
const ask = (model: string, content: string) => ({ model, messages: [{ role: 'user' as const, content }] });

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  let client: OpenAI;
  beforeAll(() => {
    client = official.connect(gateway, customer.key, { maxRetries: 0 });
  });

  it('reaches the Responses API with tools and chat completions without them', async () => {
    replyWith(functionCall('call_1', 'weather', '{"day":1}'));
    const called = await client.chat.completions.create({ ...ask('local/split', 'Rain?'), tools: [weather] });
    expect(lastRequest().url).toBe('/v1/responses');
    expect(called.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [{ id: 'call_1', function: { name: 'weather', arguments: '{"day":1}' } }] },
    });

    upstream.answer = (answer) =>
      answer.end(JSON.stringify({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }));
    await client.chat.completions.create(ask('local/split', 'Hi'));
    expect(lastRequest().url).toBe('/v1/chat/completions');
  });

  it('gets text, reasoning and usage, and is charged for what the upstream reports', async () => {
    replyWith(reasoning('sealed', ['Think.']), message([outputText('Hello')]));
    const { data, response: reply } = await client.chat.completions.create(ask('local/responses', 'Hi')).withResponse();
    expect(data).toMatchObject({
      object: 'chat.completion',
      model: 'local/responses',
      choices: [{ finish_reason: 'stop', message: { content: 'Hello', reasoning_content: 'Think.' } }],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 12,
        prompt_tokens_details: { cached_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 5 },
        x_llm_cost_micro: COST,
      },
    });
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST));
    expect(lastBody()).toMatchObject({ store: false, reasoning: { summary: 'auto' } });
  });

  it('streams text, with usage and cost last', async () => {
    streamWith(...reasoningSteps('sealed', [['Think', '.']], 0), textDelta('Hel', 1), textDelta('lo', 1), completed());
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const request = { ...ask('local/responses', 'Hi'), stream: true as const, stream_options: { include_usage: true } };
    for await (const chunk of await client.chat.completions.create(request)) chunks.push(chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello');
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? [])).toEqual(['stop']);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 12, x_llm_cost_micro: COST });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it('streams citations of web pages as annotations, which the accumulated message keeps', async () => {
    const cite = (index: number, url: string): Step => ({
      type: 'response.output_text.annotation.added',
      item_id: 'item_0',
      output_index: 0,
      content_index: 0,
      annotation_index: index,
      annotation: { type: 'url_citation', start_index: 0, end_index: 5, url, title: 'A page' },
    });
    streamWith(textDelta('Hello', 0), cite(0, 'https://a.example'), cite(1, 'https://b.example'), completed());
    const request = { ...ask('local/responses', 'Hi'), stream_options: { include_usage: true } };
    const { choices, usage } = await official.helpers(client).stream(request).finalChatCompletion();
    const citation = (url: string) => ({
      type: 'url_citation',
      url_citation: { start_index: 0, end_index: 5, url, title: 'A page' },
    });
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'Hello', annotations: [citation('https://a.example'), citation('https://b.example')] },
    });
    expect(usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 12, x_llm_cost_micro: COST });
  });

  it('runs a tool loop of three steps in which encrypted reasoning comes back', async () => {
    const steps: Step[][] = [
      [
        ...reasoningSteps('one', [], 0),
        textDelta('I look.', 1),
        done(message([outputText('I look.')], 'commentary'), 1),
        ...callSteps('call_1', 'weather', ['{"day"', ':1}'], 2),
        ...callSteps('call_2', 'weather', ['{"day":2}'], 3),
      ],
      [...reasoningSteps('two', [], 0), ...callSteps('call_3', 'weather', ['{"day":3}'], 1)],
      [...reasoningSteps('three', [], 0), textDelta('A raincoat.', 1)],
    ];
    upstream.answer = (answer) =>
      answer
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(stream(created(), ...(steps.shift() ?? []), completed()));
    const days: number[] = [];
    const runner = official.helpers(client).runTools({
      ...ask('local/split', 'Which coat?'),
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Weather of a day',
            parameters: { type: 'object', properties: { day: { type: 'number' } } },
            parse: JSON.parse as (input: string) => { day: number },
            function: ({ day }: { day: number }) => {
              days.push(day);
              return 'rain';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('A raincoat.');
    expect(days).toEqual([1, 2, 3]);
    const call = (id: string, day: number) => ({
      type: 'function_call',
      call_id: id,
      name: 'weather',
      arguments: `{"day":${day}}`,
    });
    const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'rain' });
    const think = (sealed: string) => ({ type: 'reasoning', summary: [], encrypted_content: sealed });
    expect(lastBody()['input']).toEqual([
      { type: 'message', role: 'user', content: 'Which coat?' },
      think('one'),
      { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
      call('call_1', 1),
      call('call_2', 2),
      result('call_1'),
      result('call_2'),
      think('two'),
      call('call_3', 3),
      result('call_3'),
    ]);
  });

  it('keeps the reasoning of an organization from others that repeat its tool call ids', async () => {
    replyWith(reasoning('secret'), functionCall('call_shared', 'weather', '{}'));
    await client.chat.completions.create({ ...ask('local/split', 'Rain?'), tools: [weather] });
    const otherCustomer = official.connect(gateway, (await gateway.customer()).key, { maxRetries: 0 });
    const history: OpenAI.ChatCompletionMessageParam[] = [
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_shared', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_shared', content: 'rain' },
    ];
    replyWith(message([outputText('A raincoat.')]));
    await otherCustomer.chat.completions.create({ model: 'local/split', messages: history, tools: [weather] });
    expect(lastRequest().body).not.toContain('secret');
    await client.chat.completions.create({ model: 'local/split', messages: history, tools: [weather] });
    expect(lastRequest().body).toContain('secret');
  });

  it('parses structured output, and sends images and PDF files', async () => {
    replyWith(message([outputText('{"coat":true}')]));
    const { z } = official;
    const parsed = await official.helpers(client).parse({
      model: 'local/responses',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A coat?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' } },
          ],
        },
      ],
      response_format: official.zodResponseFormat(z.object({ coat: z.boolean() }), 'answer'),
    });
    expect(parsed.choices[0]?.message.parsed).toEqual({ coat: true });
    expect(lastBody()).toMatchObject({
      text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: { required: ['coat'] } } },
      input: [
        {
          content: [
            { type: 'input_text', text: 'A coat?' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' },
          ],
        },
      ],
    });
  });

  it('works through the Responses endpoint of the gateway as well', async () => {
    streamWith(...reasoningSteps('sealed', [], 0), ...callSteps('call_1', 'weather', ['{"day":1}'], 1), completed());
    const final = await client.responses
      .stream({
        model: 'local/split',
        input: 'Rain?',
        tools: [{ ...weather.function, type: 'function', strict: false, parameters: {} }],
      })
      .finalResponse();
    expect(lastRequest().url).toBe('/v1/responses');
    expect(final.output).toMatchObject([{ type: 'function_call', call_id: 'call_1', arguments: '{"day":1}' }]);
  });

  it('raises a parameter that the API lacks, and a prompt that it refuses in its stream', async () => {
    const stopped = client.chat.completions.create({ ...ask('local/responses', 'Hi'), stop: ['x'] });
    await expect(stopped).rejects.toMatchObject({ status: 400, code: 'validation_failed', param: 'stop' });
    streamWith(failed('invalid_prompt'));
    const refused = client.chat.completions.create({ ...ask('local/responses', 'Hi'), stream: true });
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
  });
});
