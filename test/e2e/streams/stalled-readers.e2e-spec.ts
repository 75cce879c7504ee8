/** Clients that do not read the whole response. */
import { connect, type Socket } from 'node:net';
import { DrainService } from '../../../src/http/availability';
import type { TestCustomer } from '../../harness/gateway';
import { answerWhole, BODY, KeyedGateway, PATH, until } from '../idempotency/keyed-gateway';

/** Longer than a busy machine needs to send the data in kernel buffers. */
const STALL_MS = 3_000;
/** More than the buffers of a connection hold. */
const ANSWER_BYTES = 12 * 1_048_576;

let keyed: KeyedGateway;
let customer: TestCustomer;

beforeAll(async () => {
  keyed = await KeyedGateway.start({ UPSTREAM_IDLE_TIMEOUT_MS: String(STALL_MS) });
  keyed.upstream.answer = (response) => answerWhole(response, 'x'.repeat(ANSWER_BYTES));
  customer = await keyed.gateway.customer();
  // Stored for the replays.
  await keyed.call(customer, 'known');
});
afterAll(() => keyed.stop());

const inFlight = (): number => keyed.gateway.app.get(DrainService, { strict: false }).inFlight;

function ask(idempotencyKey: string): Socket {
  const body = JSON.stringify(BODY);
  const socket = connect(Number(new URL(keyed.gateway.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `POST ${PATH} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${customer.key}\r\n` +
      `Idempotency-Key: ${idempotencyKey}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

describe.each([
  ['a new response', 'new'],
  ['a replayed response', 'known'],
])('a client that requested %s', (_title, idempotencyKey) => {
  it('and reads none of it is disconnected, so that the response does not stay in memory', async () => {
    const socket = ask(idempotencyKey).pause();
    await until(() => inFlight() === 1);
    await until(() => inFlight() === 0);
    socket.destroy();
  });

  it('and reads slowly gets the complete response', async () => {
    const startedAtMs = performance.now();
    let bytes = 0;
    const socket = ask(idempotencyKey);
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 30);
    });
    await until(() => bytes > ANSWER_BYTES || socket.destroyed, 60_000);
    expect(bytes).toBeGreaterThan(ANSWER_BYTES);
    expect(performance.now() - startedAtMs).toBeGreaterThan(STALL_MS);
    socket.destroy();
  });
});
