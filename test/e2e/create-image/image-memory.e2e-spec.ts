import { once } from 'node:events';
import type { Server } from 'node:http';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { renderMetrics } from '../../../src/core/observability/metrics/exposition';
import { imageUrls } from '../../conformance/media-answers';
import type { CallReply } from '../../harness/gateway';
import { PIXEL, PublicHost, respondWith } from '../../harness/public-host';
import { until } from '../idempotency/keyed-gateway';
import { ImageGateway } from './image-gateway';

/** More than sockets buffer, so that the response waits for its reader. */
const LARGE = Buffer.concat([PIXEL, Buffer.alloc(24 * 1_048_576)]);

let vendor: PublicHost;
let served: ImageGateway;

beforeAll(async () => {
  vendor = await PublicHost.start();
  served = await ImageGateway.start({ OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32', MAX_BUFFERED_BYTES: '67108864' });
  served.upstream.answer = imageUrls(vendor.url('/a.png'));
});
afterAll(async () => {
  await served.stop();
  await vendor.stop();
});

async function responseBytes(): Promise<number> {
  const metrics = served.gateway.app.get(Metrics, { strict: false });
  await metrics.refresh();
  return Number(/^gateway_response_bytes (\d+)$/m.exec(await renderMetrics(metrics.registry))?.[1]);
}

/** Requests inline images, and does not read the response beyond its headers. */
function createUnread(
  body: object = {},
  { signal, key }: { signal?: AbortSignal; key?: string } = {},
): Promise<Response> {
  return fetch(`${served.gateway.url}/v1/images/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${served.customer.key}`,
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: JSON.stringify({ model: 'local/images', prompt: 'a cat', response_format: 'b64_json', ...body }),
    signal,
  });
}

it('an organization whose images fill the memory gets 503 for more before they are made, until its response is read', async () => {
  vendor.answer = (response) => respondWith(response, LARGE);
  const slow = await createUnread();
  expect([slow.status, await responseBytes()]).toEqual([200, Math.ceil((LARGE.length * 7) / 3)]);
  vendor.answer = (response) => respondWith(response, PIXEL);

  const asked = served.upstream.received.length;
  const { reply, cost } = await served.costOf(() => served.create());
  expect([reply.status, reply.json.error.code, reply.headers.get('retry-after'), cost]).toEqual([
    503,
    'service_unavailable',
    '1',
    0,
  ]);
  expect(served.upstream.received).toHaveLength(asked);
  const other = await served.gateway.customer();
  expect((await served.create({}, {}, other.key)).status).toBe(200);

  await slow.arrayBuffer();
  await until(async () => (await responseBytes()) === 0);
  expect((await served.create()).status).toBe(200);
  expect(await served.gateway.violations()).toEqual([]);
});

it('counts images that are still being stored after their client has disconnected', async () => {
  const leaving = new AbortController();
  let hasLeft: Promise<unknown> = Promise.resolve();
  const server = served.gateway.app.getHttpServer() as Server;
  server.once('request', (_request, response) => (hasLeft = once(response, 'close')));
  const objects = served.gateway.app.get(StoredObjects, { strict: false });
  const store = objects.store.bind(objects);
  const counted = Promise.withResolvers<number>();
  const storing = jest.spyOn(objects, 'store').mockImplementation(async (object) => {
    leaving.abort();
    await hasLeft;
    counted.resolve(await responseBytes());
    return store(object);
  });
  const call = createUnread({ response_format: 'url' }, { signal: leaving.signal });
  await expect(call).rejects.toThrow();
  expect(await counted.promise).toBe(Math.ceil((PIXEL.length * 7) / 3));
  storing.mockRestore();
  await until(async () => (await responseBytes()) === 0);
});

it('an organization whose replays fill the memory gets 503 for more of them until one is read, but short replays', async () => {
  const keyed = (key: string): Promise<CallReply> => served.create({}, { 'idempotency-key': key });
  await keyed('short');
  vendor.answer = (response) => respondWith(response, LARGE);
  const first = await keyed('long');
  await until(async () => (await responseBytes()) === 0);

  const slow = await createUnread({}, { key: 'long' });
  expect([slow.status, slow.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(await responseBytes()).toBeGreaterThan((LARGE.length * 7) / 3);
  const refused = await keyed('long');
  expect([refused.status, refused.json.error.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'service_unavailable',
    '1',
  ]);
  const short = await keyed('short');
  expect([short.status, short.headers.get('idempotent-replayed')]).toEqual([200, 'true']);

  expect(Buffer.from(await slow.arrayBuffer()).equals(first.bytes)).toBe(true);
  await until(async () => (await responseBytes()) === 0);
  expect((await keyed('long')).bytes.equals(first.bytes)).toBe(true);
  expect(await served.gateway.violations()).toEqual([]);
}, 60_000);
