import { once } from 'node:events';
import type { Server } from 'node:http';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { renderMetrics } from '../../../src/core/observability/metrics/exposition';
import { imageUrls } from '../../conformance/media-answers';
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

async function imageBytes(): Promise<number> {
  const metrics = served.gateway.app.get(Metrics, { strict: false });
  await metrics.refresh();
  return Number(/^gateway_image_bytes (\d+)$/m.exec(await renderMetrics(metrics.registry))?.[1]);
}

it('an organization whose images fill the memory gets 503 for more before they are made, until its response is read', async () => {
  vendor.answer = (response) => respondWith(response, LARGE);
  const slow = await fetch(`${served.gateway.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/images', prompt: 'a cat', response_format: 'b64_json' }),
  });
  expect([slow.status, await imageBytes()]).toEqual([200, Math.ceil((LARGE.length * 7) / 3)]);
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
  await until(async () => (await imageBytes()) === 0);
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
    counted.resolve(await imageBytes());
    return store(object);
  });
  const call = fetch(`${served.gateway.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/images', prompt: 'a cat' }),
    signal: leaving.signal,
  });
  await expect(call).rejects.toThrow();
  expect(await counted.promise).toBe(Math.ceil((PIXEL.length * 7) / 3));
  storing.mockRestore();
  await until(async () => (await imageBytes()) === 0);
});
