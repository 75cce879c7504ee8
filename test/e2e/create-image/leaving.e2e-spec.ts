import { once } from 'node:events';
import type { Server } from 'node:http';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { images, silence } from '../../conformance/media-answers';
import { ImageGateway } from './image-gateway';

let served: ImageGateway;

beforeAll(async () => {
  served = await ImageGateway.start();
});
afterAll(() => served.stop());

describe('a client without a key that disconnects', () => {
  it('cancels the work and pays nothing', async () => {
    served.upstream.answer = silence;
    const before = await served.balance();
    const gone = served.upstream.nextDisconnect();
    const leaving = new AbortController();
    const call = fetch(`${served.gateway.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${served.customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/images', prompt: 'a cat' }),
      signal: leaving.signal,
    });
    const asked = served.upstream.received.length;
    while (served.upstream.received.length === asked) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort();
    await expect(call).rejects.toThrow();
    await gone;
    while ((await served.balance()) !== before) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('does not pay for images that were being stored at the disconnect', async () => {
    served.upstream.answer = images(1);
    const { key, organizationId } = await served.gateway.customer();
    const leaving = new AbortController();
    let hasLeft: Promise<unknown> = Promise.resolve();
    const server = served.gateway.app.getHttpServer() as Server;
    server.once('request', (_request, response) => (hasLeft = once(response, 'close')));
    const objects = served.gateway.app.get(StoredObjects, { strict: false });
    const store = objects.store.bind(objects);
    const storing = jest.spyOn(objects, 'store').mockImplementation(async (object) => {
      leaving.abort();
      await hasLeft;
      return store(object);
    });
    const call = fetch(`${served.gateway.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/images', prompt: 'a cat' }),
      signal: leaving.signal,
    });
    await expect(call).rejects.toThrow();
    const receipts = (): Promise<object[]> =>
      served.gateway.rows('SELECT status, charged_micro FROM usage_record WHERE organization_id = $1', [
        organizationId,
      ]);
    while ((await receipts()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    storing.mockRestore();
    expect(await receipts()).toEqual([{ status: 499, charged_micro: '0' }]);
  });
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});
