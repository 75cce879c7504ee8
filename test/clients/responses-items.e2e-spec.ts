/** `/v1/responses` over an upstream that speaks the Responses API too, as the official client sees it. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { APIUserAbortError, BadRequestError, RateLimitError } from 'openai';
import { FakeUpstream } from '../conformance/fake-upstream';
import { rebuild } from '../conformance/response-reader';
import {
  added,
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
import { schemaValidator } from '../harness/openapi-validator';
import { NEWEST_CLIENT } from './official-client';
import { recordsOf, soleRecordOf } from './traces';

const tokens = {
  per_1m_micro: { input: 1_000_000, cache_read: 100_000, cache_write_5m: 2_000_000, output: 10_000_000 },
};
const prices = [{ effective_from: '2026-01-01', source: 'made up', checked_at: '2026-01-01', tokens }];
/** 16 plain, 10 cached and 4 written tokens, and 12 of output, rounded up. */
const COST = 16 + 1 + 8 + 120;

function modelsOf(suffix: string): object[] {
  const native = { provider: 'openai', dialect: 'openai-responses', quirks: { reasoningSummary: 'auto' } };
  const chatOnly = { provider: 'openai-compatible' };
  const model = (id: string, ...deployments: object[]): object => ({
    id,
    modality: 'text',
    input_modalities: ['text', 'image'],
    output_modalities: ['text'],
    context: 32_768,
    max_output: 8_192,
    features: { tools: true, parallel_tools: true, vision: true, json_schema: true, reasoning: ['low', 'high'] },
    deployments: deployments.map((each) => ({ upstream_model: `${id}-${suffix}`, ...each })),
    prices,
  });
  return [model('local/items', native), model('local/refusing', native), model('local/both', native, chatOnly)];
}

let upstream: FakeUpstream;
let chatUpstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;
let catalogDir: string;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  chatUpstream = await FakeUpstream.start();
  catalogDir = mkdtempSync(join(tmpdir(), 'gateway-items-'));
  writeFileSync(join(catalogDir, 'local.json'), JSON.stringify(modelsOf(randomUUID())));
  gateway = await TestGateway.start({
    OPENAI_BASE_URL: `${upstream.origin}/v1`,
    OPENAI_API_KEY: 'sk-of-the-operator',
    OPENAI_COMPATIBLE_BASE_URL: `${chatUpstream.origin}/v1`,
    CATALOG_DIR: catalogDir,
  });
});
beforeEach(async () => {
  upstream.received.length = 0;
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  await chatUpstream.stop();
  rmSync(catalogDir, { recursive: true, force: true });
});

const replyWith = (...output: ReturnType<typeof response>['output']): void => {
  upstream.answer = (answer) =>
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response({ output })));
};
const streamWith = (...steps: readonly Step[]): void => {
  upstream.answer = (answer) =>
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream(created(), ...steps));
};
const sentBody = (): Record<string, unknown> => JSON.parse(upstream.received.at(-1)?.body ?? '') as never;

const model = 'local/items';
const ask = { model, input: 'Hi' };
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'Weather of a day',
  parameters: {
    type: 'object',
    properties: { day: { type: 'number' } },
    required: ['day'],
    additionalProperties: false,
  },
  strict: true,
};
const page = { type: 'url_citation' as const, start_index: 0, end_index: 5, url: 'https://a.example', title: 'A page' };
const cite = (place: number): Step => ({
  type: 'response.output_text.annotation.added',
  item_id: `item_${place}`,
  output_index: place,
  content_index: 0,
  annotation_index: 0,
  annotation: page,
});
/** Everything that only the upstream may know. */
const FOREIGN = /resp_up|msg_up|item_\d|fc_call|rs_|sealed|upstream-model|Secret/;

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  const connect = (): OpenAI => official.connect(gateway, customer.key, { maxRetries: 0 });
  const isResponse = schemaValidator('Response');
  const isEvent = schemaValidator('ResponseStreamEvent');

  it('gets the items of the upstream under ids of the gateway, and pays for what it reports', async () => {
    replyWith(
      reasoning('sealed', ['Think.']),
      message([outputText('Hello', { annotations: [page] }), { type: 'refusal', refusal: 'No.' }], 'commentary'),
      functionCall('call_1', 'weather', '{"day":1}'),
      message([outputText('Bye')]),
    );
    const { data, response: reply } = await connect().responses.create(ask).withResponse();
    expect([isResponse(data), isResponse.errors]).toEqual([true, null]);
    expect(data.output.map(({ type }) => type)).toEqual(['message', 'function_call', 'message']);
    expect(data.output).toMatchObject([
      {
        id: expect.stringMatching(/^msg_[0-9a-f]{32}_0$/),
        phase: 'commentary',
        content: [
          { type: 'output_text', text: 'Hello', annotations: [page], logprobs: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { id: expect.stringMatching(/^fc_/), call_id: 'call_1', name: 'weather', arguments: '{"day":1}' },
      { content: [{ text: 'Bye' }] },
    ]);
    expect(data).toMatchObject({ model, store: false, usage: { input_tokens: 30, output_tokens: 12 } });
    expect(JSON.stringify(data)).not.toMatch(FOREIGN);
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(COST));
    expect(await soleRecordOf(gateway, customer)).toMatchObject({ charged_micro: String(COST) });
  });

  it('sends the conversation as it is, without what the gateway ignores', async () => {
    replyWith(message([outputText('Hello')]));
    const input: OpenAI.Responses.ResponseInput = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Which coat?' }] },
      { type: 'function_call', call_id: 'call_9', name: 'weather', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_9',
        output: [{ type: 'input_image', image_url: PIXEL, detail: 'low' }],
      },
    ];
    await connect().responses.create({
      model,
      instructions: 'Be brief.',
      input: [...input, { type: 'reasoning', id: 'rs_of_another', summary: [] }],
      tools: [weather, { type: 'web_search' }],
      reasoning: { effort: 'high' },
      max_output_tokens: 100,
      include: ['reasoning.encrypted_content'],
      store: true,
      metadata: { a: 'b' },
    });
    expect(sentBody()).toEqual({
      model: expect.stringMatching(/^local\/items-/),
      input: [{ type: 'message', role: 'system', content: 'Be brief.' }, ...input],
      store: false,
      max_output_tokens: 100,
      tools: [weather],
      reasoning: { effort: 'high' },
      include: ['reasoning.encrypted_content'],
    });
  });

  it('streams events that rebuild the same items, and ends with usage and cost', async () => {
    streamWith(
      ...reasoningSteps('sealed', [['Think', '.']], 0),
      added(message([], 'commentary'), 1),
      textDelta('Hel', 1),
      textDelta('lo', 1),
      cite(1),
      done(message([outputText('Hello')], 'commentary'), 1),
      ...callSteps('call_1', 'weather', ['{"day"', ':1}'], 2),
      completed(),
    );
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await connect().responses.create({ ...ask, stream: true })) events.push(event);
    for (const event of events) expect([isEvent(event), isEvent.errors, event.type]).toEqual([true, null, event.type]);
    const last = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(rebuild(events)).toEqual(last.response.output);
    expect(last.response.output).toMatchObject([
      { phase: 'commentary', content: [{ text: 'Hello', annotations: [page] }] },
      { call_id: 'call_1', arguments: '{"day":1}' },
    ]);
    expect(last.response.usage).toMatchObject({ input_tokens: 30, output_tokens: 12, x_llm_cost_micro: COST });
    expect(JSON.stringify(events)).not.toMatch(FOREIGN);
    expect(await soleRecordOf(gateway, customer)).toMatchObject({ charged_micro: String(COST) });
  });

  it('runs a tool loop of three steps in which encrypted reasoning comes back', async () => {
    const steps: Step[][] = [
      [
        ...reasoningSteps('one', [], 0),
        added(message([], 'commentary'), 1),
        textDelta('I look.', 1),
        done(message([outputText('I look.')], 'commentary'), 1),
        ...callSteps('call_1', 'weather', ['{"day":1}'], 2),
        ...callSteps('call_2', 'weather', ['{"day":2}'], 3),
      ],
      [...reasoningSteps('two', [], 0), ...callSteps('call_3', 'weather', ['{"day":3}'], 1)],
      [...reasoningSteps('three', [], 0), textDelta('A raincoat.', 1)],
    ];
    upstream.answer = (answer) =>
      answer
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(stream(created(), ...(steps.shift() ?? []), completed()));
    const client = connect();
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Which coat?' }];
    let last: OpenAI.Responses.Response | null = null;
    for (let step = 0; step < 3; step++) {
      last = await client.responses.stream({ model, input, tools: [weather] }).finalResponse();
      input.push(...(last.output as OpenAI.Responses.ResponseInput));
      for (const item of last.output) {
        if (item.type !== 'function_call') continue;
        input.push({ type: 'function_call_output', call_id: item.call_id, output: 'rain' });
      }
    }
    expect(last?.output_text).toBe('A raincoat.');
    const call = (id: string, day: number) => ({
      type: 'function_call',
      call_id: id,
      name: 'weather',
      arguments: `{"day":${day}}`,
    });
    const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'rain' });
    const think = (sealed: string) => ({ type: 'reasoning', summary: [], encrypted_content: sealed });
    expect(sentBody()['input']).toEqual([
      { type: 'message', role: 'user', content: 'Which coat?' },
      think('one'),
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'I look.' }],
      },
      call('call_1', 1),
      call('call_2', 2),
      result('call_1'),
      result('call_2'),
      think('two'),
      call('call_3', 3),
      result('call_3'),
    ]);
    expect((await recordsOf(gateway, customer)).map(({ charged_micro: micro }) => Number(micro))).toEqual([
      COST,
      COST,
      COST,
    ]);
  });

  it('parses structured output', async () => {
    replyWith(message([outputText('{"coat":true}')]));
    const { z } = official;
    const format = official.zodTextFormat(z.object({ coat: z.boolean() }), 'answer');
    const parsed = await connect().responses.parse({ ...ask, text: { format } });
    expect(parsed.output_parsed).toEqual({ coat: true });
    expect(sentBody()['text']).toMatchObject({ format: { type: 'json_schema', name: 'answer', strict: true } });
  });

  it('gets the stored response for a repeated Idempotency-Key, without another call', async () => {
    streamWith(added(message([]), 0), textDelta('Hello'), done(message([outputText('Hello')]), 0), completed());
    const headers = { 'idempotency-key': randomUUID() };
    const textOf = async (): Promise<string> =>
      (
        await connect()
          .responses.create({ ...ask, stream: true }, { headers })
          .asResponse()
      ).text();
    const first = await textOf();
    expect(await textOf()).toBe(first);
    expect(upstream.received).toHaveLength(1);
    expect(await soleRecordOf(gateway, customer)).toMatchObject({ charged_micro: String(COST) });
  });

  it('ends the upstream call when it aborts a stream', async () => {
    upstream.answer = (answer) =>
      void answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream(created(), textDelta('Hi')));
    const disconnected = upstream.nextDisconnect();
    const abort = new AbortController();
    const opened = await connect().responses.create({ ...ask, stream: true }, { signal: abort.signal });
    const read = async (): Promise<void> => {
      for await (const event of opened) if (event.type === 'response.output_text.delta') abort.abort();
    };
    await read().catch((error: unknown) => expect(error).toBeInstanceOf(APIUserAbortError));
    await expect(disconnected).resolves.toBeUndefined();
  });

  it('gets the error classes of refusals, without the words of the upstream', async () => {
    const refusing = { ...ask, model: 'local/refusing' };
    const error = { type: 'invalid_request_error', code: null, param: 'text.format.schema', message: 'org-Secret1' };
    upstream.answer = (answer) => answer.writeHead(400).end(JSON.stringify({ error }));
    const invalid = await connect()
      .responses.create(refusing)
      .catch((reason: unknown) => reason);
    expect(invalid).toBeInstanceOf(BadRequestError);
    expect(invalid).toMatchObject({ code: 'validation_failed', param: 'text.format.schema' });
    expect(JSON.stringify(invalid)).not.toContain('Secret');
    await expect(connect().responses.create({ ...refusing, max_output_tokens: 5 })).rejects.toMatchObject({
      status: 400,
      code: 'validation_failed',
      param: 'max_output_tokens',
    });
    streamWith(failed('invalid_prompt'));
    const refused = connect().responses.create({ ...refusing, stream: true });
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
    upstream.answer = (answer) =>
      answer
        .writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
        .end(JSON.stringify({ error: { code: 'rate_limit_exceeded', message: 'org-Secret1' } }));
    const limited = await connect()
      .responses.create(refusing)
      .catch((reason: unknown) => reason);
    expect(limited).toBeInstanceOf(RateLimitError);
    expect(String(limited)).not.toContain('Secret');
    const charged = (await recordsOf(gateway, customer)).filter(({ charged_micro: micro }) => Number(micro) > 0);
    expect(charged).toEqual([]);
  });

  it('gets a failed response and the error when the upstream fails in mid-stream', async () => {
    upstream.answer = (answer) => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.write(stream(created(), added(message([]), 0), textDelta('Hi')));
      setImmediate(() => answer.end(stream(failed('server_error'))));
    };
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    const read = async (): Promise<void> => {
      for await (const event of await connect().responses.create({ ...ask, stream: true })) events.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: 'stream_interrupted' });
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { output: [{ status: 'incomplete', content: [{ text: 'Hi' }] }] },
    });
    expect(JSON.stringify(events)).not.toMatch(FOREIGN);
  });

  it('falls back to a deployment that only has chat, which gets a translation', async () => {
    upstream.answer = (answer) => answer.writeHead(500).end('{}');
    chatUpstream.answer = (answer) =>
      answer.end(JSON.stringify({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }));
    const data = await connect().responses.create({ ...ask, model: 'local/both', instructions: 'Be brief.' });
    expect(data.output).toMatchObject([{ type: 'message', content: [{ text: 'Hello' }] }]);
    expect(upstream.received[0]?.url).toBe('/v1/responses');
    const { url, body } = chatUpstream.received.at(-1) ?? { url: '', body: '{}' };
    expect([url, (JSON.parse(body) as { messages: unknown }).messages]).toEqual([
      '/v1/chat/completions',
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
    ]);
  });
});
