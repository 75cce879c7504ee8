import type { ServerResponse } from 'node:http';
import { DrainService } from '../../../src/http/availability';
import type { TestCustomer } from '../../harness/gateway';
import { chunk, event, usageChunk } from '../../harness/upstream-models';
import { answerWhole, BODY, KeyedGateway, PATH, STREAM_BODY, until } from './keyed-gateway';

let keyed: KeyedGateway;
let customer: TestCustomer;
/** The upstream side of the calls in flight. */
let upstream: ServerResponse[];

beforeEach(async () => {
  upstream = [];
  keyed = await KeyedGateway.start();
  keyed.upstream.answer = (response, { body }) => {
    upstream.push(response);
    if (JSON.parse(body).stream !== true) return;
    response.setHeader('content-type', 'text/event-stream');
    response.write(chunk({ content: 'first ' }));
  };
  customer = await keyed.gateway.customer();
});
afterEach(async () => {
  await keyed.stop();
});

/**
 * Sends a request and disconnects: from a stream after its first bytes, otherwise once the upstream has the request.
 */
async function sendAndLeave(body: object, idempotencyKey?: string): Promise<void> {
  const leaving = new AbortController();
  const asking = fetch(`${keyed.gateway.url}${PATH}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${customer.key}`,
      'content-type': 'application/json',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  if (body === STREAM_BODY) await (await asking).body?.getReader().read();
  else await until(() => upstream.length > 0);
  leaving.abort();
  await asking.catch(() => undefined);
}

/** Waits until the gateway has detected the disconnect and counts no request in flight. */
const noticed = (): Promise<void> =>
  until(async () => {
    const server = keyed.gateway.app.getHttpServer() as { getConnections(done: (e: unknown, n: number) => void): void };
    return new Promise<boolean>((resolve) => server.getConnections((_error, count) => resolve(count === 0)));
  });

const isClosed = (): Promise<void> => until(() => upstream[0]?.destroyed === true);

function finishStream(): void {
  upstream[0]?.end(chunk({ content: 'last' }) + chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]'));
}

describe('a disconnect of a client with an Idempotency-Key', () => {
  it('in mid-stream keeps the response for replay and charges it once', async () => {
    await sendAndLeave(STREAM_BODY, 'back');
    await noticed();
    expect(await keyed.states(customer)).toEqual(['in_progress']);
    expect((await keyed.call(customer, 'back', STREAM_BODY)).status).toBe(409);
    finishStream();
    await until(async () => (await keyed.states(customer))[0] === 'completed');

    const replay = await keyed.call(customer, 'back', STREAM_BODY);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    const words = replay.events.slice(0, -1).map((data) => JSON.parse(data).choices[0]?.delta.content ?? '');
    expect(words.join('')).toBe('first last');
    expect(JSON.parse(replay.events.at(-2) ?? '').usage.x_llm_cost_micro).toBe(20);
    expect(upstream).toHaveLength(1);
    expect(await keyed.spent(customer)).toEqual({ balance: 9_999_980, reserved: 0, receipts: 1 });
  });

  it('before a whole response keeps the response for replay and charges it once', async () => {
    await sendAndLeave(BODY, 'back');
    await noticed();
    answerWhole(upstream[0] as ServerResponse, 'whole');
    await until(async () => (await keyed.states(customer))[0] === 'completed');
    const replay = await keyed.call(customer, 'back');
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(replay.json.choices[0].message.content).toBe('whole');
    expect(await keyed.spent(customer)).toEqual({ balance: 9_999_980, reserved: 0, receipts: 1 });
  });

  it('ends a stream that becomes too long to store: charged as delivered, the key is free', async () => {
    keyed.limit({ maxResponseBytes: 2_000 });
    await sendAndLeave(STREAM_BODY, 'back');
    await noticed();
    upstream[0]?.write(chunk({ content: 'y'.repeat(3_000) }));
    await isClosed();
    await until(async () => (await keyed.spent(customer)).receipts === 1);
    expect(await keyed.states(customer)).toEqual([]);
    expect((await keyed.spent(customer)).balance).toBeLessThan(10_000_000);
  });

  it('delays a shutdown like any other request in flight', async () => {
    await sendAndLeave(STREAM_BODY, 'back');
    await noticed();
    let drained: boolean | null = null;
    const draining = keyed.gateway.app
      .get(DrainService, { strict: false })
      .drain(60_000)
      .then((finished) => (drained = finished));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(drained).toBeNull();
    finishStream();
    expect(await draining).toBe(true);
    await keyed.gateway.app.close();
    expect(await keyed.states(customer)).toEqual(['completed']);
  });

  it('settles the delivered part when a shutdown reaches its deadline', async () => {
    await sendAndLeave(STREAM_BODY, 'back');
    await noticed();
    expect(await keyed.gateway.app.get(DrainService, { strict: false }).drain(50)).toBe(false);
    await keyed.gateway.app.close();
    expect(await keyed.states(customer)).toEqual([]);
    expect(await keyed.spent(customer)).toMatchObject({ reserved: 0, receipts: 1 });
  });
});

describe('a disconnect of a client without an Idempotency-Key', () => {
  it.each([
    ['in mid-stream', STREAM_BODY],
    ['before a whole response', BODY],
  ])('%s cancels the upstream call', async (_title, body) => {
    await sendAndLeave(body);
    await isClosed();
    await until(async () => (await keyed.spent(customer)).receipts === 1);
    expect(await keyed.spent(customer)).toMatchObject({ reserved: 0 });
  });
});
