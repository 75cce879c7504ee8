import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ContextOverflowError } from '@langchain/core/errors';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { type TestCustomer, TestGateway } from '../../harness/gateway';
import { followAttempts, heldMicro, recordsOf, soleRecordOf } from '../traces';
import { startRelayTo } from '../relayed-gateway';
import { access, disableTracing } from './langchain';

let gateway: TestGateway;
let customer: TestCustomer;
let attemptsOf: ReturnType<typeof followAttempts>;

type Key = Pick<TestCustomer, 'key'>;

beforeAll(async () => {
  disableTracing();
  gateway = await TestGateway.start();
  attemptsOf = followAttempts(gateway);
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe.each([
  ['ChatOpenAI by chat', false],
  ['ChatOpenAI by responses', true],
])('%s', (_title, useResponsesApi) => {
  const connect = (fields: Partial<ChatOpenAIFields> = {}, { key }: Key = customer): ChatOpenAI =>
    new ChatOpenAI({ model: 'mock/chat-1', useResponsesApi, maxRetries: 0, ...fields, ...access(gateway, { key }) });

  it.each<[number, string, string | undefined, string, () => Promise<Key>]>([
    [401, 'invalid_api_key', 'MODEL_AUTHENTICATION', 'mock/chat-1', async () => ({ key: 'sk-llm-unknown' })],
    [402, 'insufficient_credits', undefined, 'mock/chat-1', () => gateway.customer({}, 1n)],
    [404, 'model_not_found', 'MODEL_NOT_FOUND', 'mock/none', async () => customer],
    [400, 'validation_failed', undefined, 'mock/embed-1', async () => customer],
  ])('raises the error of a %i without a retry, even if allowed', async (status, code, kind, model, keyOf) => {
    const { key } = await keyOf();
    const before = attemptsOf({ key }).length;
    const failure = await thrownBy(() => connect({ model, maxRetries: 2 }, { key }).invoke('Hello'));
    expect(failure).toMatchObject({ status, code });
    expect(failure['lc_error_code']).toBe(kind);
    expect(attemptsOf({ key })).toHaveLength(before + 1);
  });

  it('retries after a 429 up to its limit, without a charge', async () => {
    const limited = connect({ maxRetries: 1 });
    const failure = await thrownBy(() => limited.invoke('Hi [[mock: status=429 retry_after=1]]'));
    expect(failure).toMatchObject({ status: 429, lc_error_code: 'MODEL_RATE_LIMIT', rateLimitType: 'wait' });
    expect(attemptsOf(customer)).toHaveLength(2);
    const refused = { status: 429, error_code: 'provider_rate_limited', charged_micro: '0' };
    expect(await recordsOf(gateway, customer)).toMatchObject([refused, refused]);
  });

  it('raises a mid-stream failure with its error code', async () => {
    let text = '';
    const failure = await thrownBy(async () => {
      const stream = await connect().stream('Tell me a story [[mock: reset_after=3]]');
      for await (const chunk of stream) text += chunk.text;
    });
    expect(text).not.toBe('');
    expect(failure).toMatchObject({ code: 'stream_interrupted', type: 'provider_error' });
    expect(await recordsOf(gateway, customer)).toMatchObject([{ status: 502, error_code: 'stream_interrupted' }]);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });

  it('stops on abort in mid-stream, and charges the delivered part', async () => {
    const abort = new AbortController();
    let chunks = 0;
    await thrownBy(async () => {
      const stream = await connect().stream('Count [[mock: tokens=2000 delay=5ms]]', { signal: abort.signal });
      for await (const { text } of stream) if (text !== '' && ++chunks === 5) abort.abort();
    });
    expect(chunks).toBeLessThan(500);
    const record = await soleRecordOf(gateway, customer);
    expect(record).toMatchObject({ status: 499, error_code: null, streamed: true, usage_estimated: true });
    expect(Number(record.charged_micro)).toBeGreaterThan(0);
    expect(Number(record.output_text)).toBeLessThan(500);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });
});

it('raises its ContextOverflowError when an upstream finds the prompt too long', async () => {
  const message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.";
  const error = { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' };
  const upstream = createServer((_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  const relay = await startRelayTo(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  try {
    const model = new ChatOpenAI({ model: 'relay/chat-1', ...access(relay, await relay.customer()) });
    expect(await thrownBy(() => model.invoke('Hello'))).toBeInstanceOf(ContextOverflowError);
  } finally {
    await relay.stop();
    upstream.close();
  }
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});

async function thrownBy(call: () => Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await call();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('nothing was thrown');
}
