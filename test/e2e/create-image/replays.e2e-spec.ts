import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../src/common/clock';
import { imageUrls, images, json, tinyPng } from '../../conformance/media-answers';
import type { CallReply } from '../../harness/gateway';
import { ImageGateway, PRICES } from './image-gateway';

const HOUR_MS = 3_600_000;
/** Time goes on while a test runs, and on a busy machine that takes a while. */
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

/** On a busy machine an answer may have been given before it is kept. */
async function onceKept(key: string, body: object): Promise<CallReply> {
  for (;;) {
    const reply = await keyed(key, body);
    if (reply.status !== 409 || reply.json.error.retry_after === undefined) return reply;
  }
}

/** What a repetition costs and asks of the provider. */
async function repeat(key: string, body: object = {}): Promise<CallReply> {
  const asked = served.upstream.received.length;
  const { reply, cost } = await served.costOf(() => onceKept(key, body));
  expect([reply.status, reply.headers.get('idempotent-replayed'), cost]).toEqual([200, 'true', 0]);
  expect(served.upstream.received.length).toBe(asked);
  return reply;
}

describe('a key that has been used', () => {
  it('gets the same images again, byte for byte, without a call or a charge', async () => {
    const first = await keyed('bytes');
    const again = await repeat('bytes');
    expect(again.text).toBe(first.text);
    expect(again.headers.get('x-llm-cost-micro')).toBe(String(2 * PRICES.other));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  });

  it('gets images that are kept, though in base64 they are longer than what is', async () => {
    const bytes = Buffer.concat([tinyPng(), Buffer.alloc(13 * 1_048_576)]);
    const data = [{ b64_json: bytes.toString('base64') }, { b64_json: tinyPng(1).toString('base64') }];
    served.upstream.answer = json({ data: [...data, data[0]] });
    const first = await keyed('long', { n: 3 });
    expect(first.bytes.length).toBeGreaterThan(32 * 1_048_576);
    const again = await repeat('long', { n: 3 });
    expect(again.bytes.equals(first.bytes)).toBe(true);
  }, 120_000);

  it('gets the same addresses until they expire, and then fresh ones of the same images', async () => {
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

  it('is not free for other images', async () => {
    await keyed('once');
    const other = await keyed('once', { prompt: 'a dog' });
    expect([other.status, other.json.error.code]).toEqual([409, 'idempotency_conflict']);
    expect(other.json.error).not.toHaveProperty('retry_after');
  });
});

it('finishes for a client that has left, charges it, and has its images ready when it comes back', async () => {
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

it('leaves the books in order', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});

describe('while the storage is away', () => {
  let dataDir: string;
  let monotonicMs = 0;
  let broken: ImageGateway;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gateway-images-'));
    // Where a folder has to be there is a file.
    writeFileSync(join(dataDir, 'objects'), '');
    const moving: Clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() + monotonicMs };
    broken = await ImageGateway.start({ DATA_DIR: dataDir, STORAGE: 'local' }, moving);
  });
  afterAll(async () => {
    await broken.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('images that were made and cannot be stored are free, and their key too', async () => {
    broken.upstream.answer = images(1);
    const ask = () => broken.costOf(() => broken.create({ response_format: 'url' }, { 'idempotency-key': 'again' }));
    const refused = await ask();
    expect([refused.reply.status, refused.reply.json.error.code, refused.cost]).toEqual([
      503,
      'service_unavailable',
      0,
    ]);
    // For a moment nobody is asked for others, which could not be stored either.
    const next = await ask();
    expect([next.reply.status, next.cost]).toEqual([503, 0]);
    // Of the five seconds, what a busy machine has left.
    expect([1, 2, 3, 4, 5]).toContain(next.reply.json.error.retry_after);
    expect(broken.upstream.received.length).toBe(1);
    // Images in the answer need no storage.
    expect((await broken.create()).status).toBe(200);
    rmSync(join(dataDir, 'objects'));
    mkdirSync(join(dataDir, 'objects'));
    monotonicMs += 5_000;
    const repaired = await ask();
    expect([repaired.reply.status, repaired.cost]).toEqual([200, PRICES.other]);
    expect(await broken.gateway.violations()).toEqual([]);
  });
});

it('repeats a vendor’s own address as it is', async () => {
  const bare = await ImageGateway.start({ STORAGE: 'none' }, clock);
  try {
    bare.upstream.answer = imageUrls('https://vendor.example/a.png?sig=x');
    const ask = () => bare.create({ model: 'local/urls', response_format: 'url' }, { 'idempotency-key': 'vendor' });
    const first = await ask();
    offsetMs = 2 * HOUR_MS;
    const again = await ask();
    expect([again.json, again.headers.get('idempotent-replayed')]).toEqual([first.json, 'true']);
  } finally {
    await bare.stop();
  }
});
