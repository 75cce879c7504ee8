import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APP_CONFIG, type AppConfig } from '../../../src/core/config/app-config';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { TestGateway } from '../../harness/gateway';
import { exchange } from '../../harness/raw-http';

/** Every invalid URL gets the same 404. */
const CANARY = 'secret content';
const clock = { now: () => Date.now() + clock.offsetMs, monotonic: () => performance.now(), offsetMs: 0 };

let gateway: TestGateway;
let objects: StoredObjects;
let key: string;
let query: string;
beforeAll(async () => {
  gateway = await TestGateway.start({ STORAGE: 'local' }, clock);
  objects = gateway.app.get(StoredObjects, { strict: false });
  const { dataDir } = gateway.app.get<AppConfig>(APP_CONFIG);
  const owner = { kind: 'image', organizationId: randomUUID(), id: randomUUID() } as const;
  ({ key } = await objects.store({ ...owner, index: 0, contentType: 'image/png', body: Buffer.from('x') }));
  query = new URL((await objects.sign(key)).url).search;
  writeFileSync(join(dataDir, 'canary.png'), CANARY);
  writeFileSync(join(dataDir, 'objects', 'canary.png'), CANARY);
});
afterEach(() => {
  clock.offsetMs = 0;
});
afterAll(() => gateway.stop());

async function expectNothing(path: string): Promise<void> {
  const reply = await gateway.call(path);
  expect([path, reply.status, reply.json?.error.code]).toEqual([path, 404, 'not_found']);
  expect(reply.text).not.toContain(CANARY);
}

describe('an invalid URL', () => {
  it('lacks its signature, or has another one', async () => {
    const expires = new URLSearchParams(query).get('expires') ?? '';
    const signature = new URLSearchParams(query).get('signature') ?? '';
    await expectNothing(`/v1/objects/${key}`);
    await expectNothing(`/v1/objects/${key}?expires=${expires}`);
    await expectNothing(`/v1/objects/${key}?signature=${signature}`);
    await expectNothing(`/v1/objects/${key}?expires=${expires}&signature=${'A'.repeat(signature.length)}`);
    await expectNothing(`/v1/objects/${key}?expires=${expires}&signature=${signature}&signature=${signature}`);
    await expectNothing(`/v1/objects/${key}?expires=${expires}&expires=${expires}&signature=${signature}`);
    await expectNothing(`/v1/objects/${key}?expires=${Number(expires) + 1}&signature=${signature}`);
  });

  it('has expired', async () => {
    expect((await gateway.call(`/v1/objects/${key}${query}`)).status).toBe(200);
    clock.offsetMs = 3_600_000;
    await expectNothing(`/v1/objects/${key}${query}`);
  });

  it('names a deleted object', async () => {
    const owner = { kind: 'image', organizationId: randomUUID(), id: randomUUID() } as const;
    const stored = await objects.store({ ...owner, index: 0, contentType: 'image/png', body: Buffer.from('x') });
    const { url } = await objects.sign(stored.key);
    await objects.deleteAll(owner);
    await expectNothing(url.slice(gateway.url.length));
  });

  it('has the signature of another object', async () => {
    const owner = { kind: 'image', organizationId: randomUUID(), id: randomUUID() } as const;
    const other = await objects.store({ ...owner, index: 0, contentType: 'image/png', body: Buffer.from('x') });
    await expectNothing(`/v1/objects/${other.key}${query}`);
  });

  it.each([
    '..%2fcanary.png',
    '%2e%2e%2fcanary.png',
    '%2e%2e/canary.png',
    '..%5ccanary.png',
    '%2fcanary.png',
    '%2fetc%2fpasswd',
    'canary.png',
    'image/..%2f..%2fcanary.png',
    'canary.png%00',
    '.drafts',
    '',
    '%ff',
    '%',
  ])('points outside the storage: %s', async (route) => {
    await expectNothing(`/v1/objects/${route}${query}`);
    const port = Number(new URL(gateway.url).port);
    const raw = await exchange(
      port,
      `GET /v1/objects/../${route}${query} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`,
    );
    expect([raw.status, raw.body.includes(CANARY)]).toEqual([404, false]);
  });
});

describe('outputs that are stored elsewhere, or not at all', () => {
  it('have no URL at the gateway', async () => {
    const other = await TestGateway.start({ STORAGE: 'none' });
    try {
      expect((await other.call(`/v1/objects/${key}${query}`)).status).toBe(404);
      expect(other.app.get(StoredObjects, { strict: false }).isConfigured).toBe(false);
    } finally {
      await other.stop();
    }
  });
});
