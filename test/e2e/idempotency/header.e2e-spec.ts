import { exchange } from '../../harness/raw-http';
import type { TestCustomer } from '../../harness/gateway';
import { assertMatchesDocument } from '../../harness/openapi-validator';
import { BODY, KeyedGateway, PATH } from './keyed-gateway';

let keyed: KeyedGateway;
let customer: TestCustomer;

beforeAll(async () => {
  keyed = await KeyedGateway.start();
});
beforeEach(async () => {
  customer = await keyed.gateway.customer();
});
afterAll(() => keyed.stop());

/** Sends a request with exactly these header lines and returns its response. */
async function send(lines: readonly string[], body: string = JSON.stringify(BODY)) {
  const head = [
    `POST ${PATH} HTTP/1.1`,
    'Host: gateway',
    `Authorization: Bearer ${customer.key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...lines,
  ];
  const port = Number(new URL(keyed.gateway.url).port);
  const reply = await exchange(port, Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'));
  const headers = Object.fromEntries(
    reply.headers
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  assertMatchesDocument({ method: 'POST', path: PATH, status: reply.status, headers, body: reply.body });
  return { status: reply.status, json: JSON.parse(reply.body) };
}

it.each([
  ['256 characters', [`Idempotency-Key: ${'k'.repeat(256)}`]],
  ['a space', ['Idempotency-Key: a b']],
  ['a character beyond ASCII', ['Idempotency-Key: caf\u00e9']],
  ['a control character', ['Idempotency-Key: a\tb']],
  ['two identical lines', ['Idempotency-Key: a', 'Idempotency-Key: a']],
  ['two different lines', ['Idempotency-Key: a', 'idempotency-key: b']],
  ['two lines, one of them empty', ['Idempotency-Key: a', 'Idempotency-Key:']],
])('refuses a key of %s without executing the request', async (_title, lines) => {
  const askedBefore = keyed.asked;
  const { status, json } = await send(lines);
  expect(status).toBe(400);
  expect(json.error).toMatchObject({ code: 'validation_failed', param: 'Idempotency-Key' });
  expect(keyed.asked).toBe(askedBefore);
});

it('accepts 255 visible characters', async () => {
  const line = `Idempotency-Key: ${'~!'.repeat(127)}k`;
  expect((await send([line])).status).toBe(200);
  expect(await keyed.states(customer)).toEqual(['completed']);
});

it('treats an empty header line as no key', async () => {
  expect((await send(['Idempotency-Key:'])).status).toBe(200);
  expect(await keyed.states(customer)).toEqual([]);
});

it('validates the body first, then the key, then the fields', async () => {
  const bad = 'Idempotency-Key: a b';
  expect((await send([bad], '{"model":')).json.error.code).toBe('invalid_json');
  expect((await send([bad], '{"model":1}')).json.error.param).toBe('Idempotency-Key');
});

it('ignores the header on routes that accept no key', async () => {
  const reply = await keyed.gateway.call('/v1/models', { key: customer.key, headers: { 'idempotency-key': 'a b' } });
  expect(reply.status).toBe(200);
});
