import { FakeUpstream } from '../conformance/fake-upstream';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { startRelayTo } from './relayed-gateway';
import { followAttempts, heldMicro, recordsOf } from './traces';

let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;
let attemptsOf: ReturnType<typeof followAttempts>;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await startRelayTo(upstream.origin);
  attemptsOf = followAttempts(gateway);
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const IDENTITY = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'chat-1' };
const USAGE = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
const WHOLE = {
  ...IDENTITY,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: USAGE,
};
const chunk = (rest: object): string =>
  `data: ${JSON.stringify({ ...IDENTITY, object: 'chat.completion.chunk', ...rest })}\n\n`;
const STREAMED = [
  chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }], usage: null }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }),
  chunk({ choices: [], usage: USAGE }),
  'data: [DONE]\n\n',
].join('');

/** The upstream refuses once, then responds. */
function refuseOnce(status: number): void {
  let refused = false;
  upstream.answer = (response, { body }) => {
    if (!refused) {
      refused = true;
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end('{"error":{"message":"Slow down"}}');
    } else if (JSON.parse(body).stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(STREAMED);
    } else {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(WHOLE));
    }
  };
}

describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
  const request = { model: 'relay/chat-1', messages: [{ role: 'user' as const, content: 'Hello' }] };

  it.each([false, true])('retries after a 429 by itself, charged once, streamed: %s', async (stream) => {
    refuseOnce(429);
    const client = official.connect(gateway, customer.key);
    const completion = stream
      ? await official.helpers(client).stream(request).finalChatCompletion()
      : await client.chat.completions.create(request);
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(attemptsOf(customer).map(({ retryCount }) => retryCount)).toEqual([0, 1]);
    expect(await recordsOf(gateway, customer)).toMatchObject([
      { status: 429, charged_micro: '0' },
      { status: 200, output_text: '1' },
    ]);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});
