import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import type { Answer } from '../../conformance/fake-upstream';
import { disconnect, fault, imageUrls, images, json, silence, tinyPng } from '../../conformance/media-answers';
import type { CallReply } from '../../harness/gateway';
import { ImageGateway, PRICES } from './image-gateway';

const HOUR_MS = 3_600_000;
/** Time that passes during a test on a busy machine. */
const SLOWEST_TEST_MS = 120_000;

let offsetMs = 0;
const clock: Clock = { now: () => systemClock.now() + offsetMs, monotonic: systemClock.monotonic };
let served: ImageGateway;

beforeAll(async () => {
  served = await ImageGateway.start({}, clock);
});
beforeEach(() => {
  offsetMs = 0;
  served.upstream.answer = images(2);
});
afterAll(() => served.stop());

const keyed = (key: string, body: object = {}): Promise<CallReply> =>
  served.create({ n: 2, ...body }, { 'idempotency-key': key });

/** On a busy machine a response can be sent before it is stored. */
async function onceKept(key: string, body: object): Promise<CallReply> {
  for (;;) {
    const reply = await keyed(key, body);
    if (reply.status !== 409 || reply.json.error.retry_after === undefined) return reply;
  }
}

/** Cost and provider calls of a replay. */
async function repeat(key: string, body: object = {}): Promise<CallReply> {
  const asked = served.upstream.received.length;
  const { reply, cost } = await served.costOf(() => onceKept(key, body));
  expect([reply.status, reply.headers.get('idempotent-replayed'), cost]).toEqual([200, 'true', 0]);
  expect(served.upstream.received.length).toBe(asked);
  return reply;
}

describe('a repeated Idempotency-Key', () => {
  it('replays the same images byte for byte, without a call or a charge', async () => {
    const first = await keyed('bytes');
    const again = await repeat('bytes');
    expect(again.text).toBe(first.text);
    expect(again.headers.get('x-llm-cost-micro')).toBe(String(2 * PRICES.other));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  });

  it('replays stored images whose base64 form exceeds the limit of a stored response', async () => {
    const bytes = Buffer.concat([tinyPng(), Buffer.alloc(13 * 1_048_576)]);
    const data = [{ b64_json: bytes.toString('base64') }, { b64_json: tinyPng(1).toString('base64') }];
    served.upstream.answer = json({ data: [...data, data[0]] });
    const first = await keyed('long', { n: 3 });
    expect(first.bytes.length).toBeGreaterThan(32 * 1_048_576);
    const again = await repeat('long', { n: 3 });
    expect(again.bytes.equals(first.bytes)).toBe(true);
  }, 120_000);

  it('replays the same URLs until they expire, then fresh URLs of the same images', async () => {
    const body = { response_format: 'url' };
    const first = await keyed('addresses', body);
    offsetMs = HOUR_MS - SLOWEST_TEST_MS;
    expect((await repeat('addresses', body)).text).toBe(first.text);

    offsetMs = HOUR_MS + SLOWEST_TEST_MS;
    for (const { url } of first.json.data) expect((await fetch(url)).status).toBe(404);
    const { json } = await repeat('addresses', body);
    const pathOf = ({ url }: { url: string }): string => new URL(url).pathname;
    expect(json.data.map(pathOf)).toEqual(first.json.data.map(pathOf));
    expect({ ...json, data: null }).toEqual({ ...first.json, data: null });
    for (const [index, { url }] of json.data.entries()) {
      expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(tinyPng(index));
    }
  });

  it('returns 409 for other images', async () => {
    await keyed('once');
    const other = await keyed('once', { prompt: 'a dog' });
    expect([other.status, other.json.error.code]).toEqual([409, 'idempotency_conflict']);
    expect(other.json.error).not.toHaveProperty('retry_after');
  });
});

describe('a key with an unknown outcome', () => {
  const brokenInTheAnswer: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"data":[', () => response.destroy());
  };

  it.each([
    ['the connection broke before the response', disconnect, {}],
    ['the connection broke within the response', brokenInTheAnswer, {}],
    ['the response timed out', silence, { routing: { timeout_ms: 300 } }],
  ])('returns 500 permanently and generates nothing again because %s', async (why, answer, fields) => {
    served.upstream.answer = answer;
    const asked = served.upstream.received.length;
    const before = await served.balance();
    let attempt = 0;
    let key: string;
    let first: CallReply;
    // On a stalled machine the time of a request can pass before its call reaches the provider.
    do {
      key = `${why.replaceAll(' ', '-')}-${++attempt}`;
      first = await keyed(key, fields);
    } while (served.upstream.received.length === asked);
    served.upstream.answer = images(2);
    const again = await onceKept(key, fields);
    for (const reply of [first, again]) {
      expect([reply.status, reply.json.error.code]).toEqual([500, 'internal_error']);
      expect(reply.headers.get('x-should-retry')).toBe('false');
    }
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect([served.upstream.received.length - asked, await served.balance()]).toEqual([1, before]);
  });

  it('is free after a response that reports that nothing was made', async () => {
    served.upstream.answer = fault(500);
    expect((await keyed('refused')).status).toBe(503);
    served.upstream.answer = images(2);
    const again = await keyed('refused');
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });

  it('does not affect requests without a key, which the client may retry', async () => {
    served.upstream.answer = disconnect;
    const reply = await served.create();
    expect([reply.status, reply.json.error.code]).toEqual([503, 'provider_unavailable']);
  });
});

it('completes the request after a disconnect, charges it, and replays its images', async () => {
  let answer = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    served.upstream.answer = (response, request) => {
      answer = () => images(2)(response, request);
      resolve();
    };
  });
  const before = await served.balance();
  const leaving = new AbortController();
  const body = { model: 'local/images', prompt: 'a cat', n: 2, response_format: 'b64_json' };
  const call = fetch(`${served.gateway.url}/v1/images/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${served.customer.key}`,
      'content-type': 'application/json',
      'idempotency-key': 'leaver',
    },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  await asked;
  leaving.abort();
  await expect(call).rejects.toThrow();
  const running = await keyed('leaver');
  expect([running.status, running.json.error.retry_after]).toEqual([409, expect.any(Number)]);
  answer();
  const settled = async (): Promise<boolean> => (await keyed('leaver')).status === 200;
  while (!(await settled())) await new Promise((resolve) => setTimeout(resolve, 10));
  expect((await repeat('leaver')).json.data.length).toBe(2);
  expect(before - (await served.balance())).toBe(2 * PRICES.other);
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});

describe('while the storage is unavailable', () => {
  let dataDir: string;
  let monotonicMs = 0;
  let broken: ImageGateway;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gateway-images-'));
    const moving: Clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() + monotonicMs };
    broken = await ImageGateway.start({ DATA_DIR: dataDir, STORAGE: 'local' }, moving);
    // A file in place of the storage folder.
    rmSync(join(dataDir, 'objects'), { recursive: true });
    writeFileSync(join(dataDir, 'objects'), '');
  });
  afterAll(async () => {
    await broken.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('images that cannot be stored are not charged, and free their key', async () => {
    broken.upstream.answer = images(1);
    const ask = () => broken.costOf(() => broken.create({ response_format: 'url' }, { 'idempotency-key': 'again' }));
    const refused = await ask();
    expect([refused.reply.status, refused.reply.json.error.code, refused.cost]).toEqual([
      503,
      'service_unavailable',
      0,
    ]);
    // A short cool-down: other images could not be stored either.
    const next = await ask();
    expect([next.reply.status, next.cost]).toEqual([503, 0]);
    // The rest of the five seconds on a busy machine.
    expect([1, 2, 3, 4, 5]).toContain(next.reply.json.error.retry_after);
    expect(broken.upstream.received.length).toBe(1);
    // Inline images need no storage.
    expect((await broken.create()).status).toBe(200);
    rmSync(join(dataDir, 'objects'));
    mkdirSync(join(dataDir, 'objects'));
    monotonicMs += 5_000;
    const repaired = await ask();
    expect([repaired.reply.status, repaired.cost]).toEqual([200, PRICES.other]);
    expect(await broken.gateway.violations()).toEqual([]);
  });
});

it('replays the vendor’s URL unchanged', async () => {
  const bare = await ImageGateway.start({ STORAGE: 'none' }, clock);
  try {
    bare.upstream.answer = imageUrls('https://vendor.example/a.png?sig=x');
    const ask = () => bare.create({ response_format: 'url' }, { 'idempotency-key': 'vendor' });
    const first = await ask();
    offsetMs = 2 * HOUR_MS;
    const again = await ask();
    expect([again.json, again.headers.get('idempotent-replayed')]).toEqual([first.json, 'true']);
  } finally {
    await bare.stop();
  }
});
