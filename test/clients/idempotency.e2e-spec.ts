import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FakeUpstream } from '../conformance/fake-upstream';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { chunk, event, usageChunk } from '../harness/upstream-models';
import { NEWEST_CLIENT } from './official-client';
import { startRelayTo } from './relayed-gateway';
import { heldMicro, recordsOf } from './traces';

/** The connection from the client to the gateway: it drops the first response although the gateway has sent it. */
class LosingTheFirstAnswer {
  private lost = false;
  private readonly clients = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async before(gateway: TestGateway): Promise<LosingTheFirstAnswer> {
    const port = Number(new URL(gateway.url).port);
    const server = createServer((client) => {
      const behind = connect(port, '127.0.0.1');
      line.clients.add(client);
      client.on('error', () => behind.destroy());
      behind.on('error', () => client.destroy());
      client.pipe(behind);
      behind.on('data', (bytes) => {
        if (line.lost) client.write(bytes);
        else if (bytes.includes('[DONE]') || bytes.includes('x_llm_cost_micro')) {
          line.lost = true;
          client.resetAndDestroy();
        }
      });
      behind.on('close', () => client.destroy());
    });
    const line = new LosingTheFirstAnswer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  get hasLost(): boolean {
    return this.lost;
  }

  async close(): Promise<void> {
    this.server.close();
    this.clients.forEach((client) => client.destroy());
    await once(this.server, 'close');
  }
}

let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;
let line: LosingTheFirstAnswer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.answer = (response, { body }) => {
    if (JSON.parse(body).stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        chunk({ role: 'assistant', content: 'Hello' }) + chunk({}, 'stop') + usageChunk(5, 1) + event('[DONE]'),
      );
      return;
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'c', choices, usage: { prompt_tokens: 5, completion_tokens: 1 } }));
  };
  gateway = await startRelayTo(upstream.origin);
});
beforeEach(async () => {
  customer = await gateway.customer();
  line = await LosingTheFirstAnswer.before(gateway);
});
afterEach(() => line.close());
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

describe.each(NEWEST_CLIENT)('%s', (title, official) => {
  const request = { model: 'relay/chat-1', messages: [{ role: 'user' as const, content: 'Hello' }] };

  it('retries by itself after a lost response, and pays and executes once', async () => {
    const askedBefore = upstream.received.length;
    const client = official.connect(gateway, customer.key, { baseURL: line.url });
    const completion = await client.chat.completions.create(request, {
      headers: { 'Idempotency-Key': `${title} lost`.replaceAll(' ', '-') },
    });
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(line.hasLost).toBe(true);
    expect(upstream.received.length - askedBefore).toBe(1);
    expect(await recordsOf(gateway, customer)).toMatchObject([{ status: 200 }]);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });

  it('reads a replayed stream like the original', async () => {
    const client = official.connect(gateway, customer.key);
    const headers = { 'Idempotency-Key': `${title} stream`.replaceAll(' ', '-') };
    const read = () => official.helpers(client).stream(request, { headers }).finalChatCompletion();
    const [first, replay] = [await read(), await read()];
    expect(replay).toEqual(first);
    expect(replay.choices[0]?.message.content).toBe('Hello');
    expect(await recordsOf(gateway, customer)).toHaveLength(1);
  });

  it('gets 409 without a retry for a key that was used with another body', async () => {
    const client = official.connect(gateway, customer.key);
    const headers = { 'Idempotency-Key': `${title} other`.replaceAll(' ', '-') };
    await client.chat.completions.create(request, { headers });
    const other = client.chat.completions.create({ ...request, temperature: 0 }, { headers });
    await expect(other).rejects.toBeInstanceOf(official.sdk.ConflictError);
  });
});
