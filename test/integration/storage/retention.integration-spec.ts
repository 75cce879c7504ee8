import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { systemClock } from '../../../src/core/time/clock';
import { storageUnavailable } from '../../../src/core/storage/storage-failure';
import { createDataSource } from '../../../src/core/database/data-source';
import { LocalStorage } from '../../../src/core/storage/local-storage';
import type { ObjectOwner } from '../../../src/core/storage/object-key';
import { RetentionSweeperService } from '../../../src/core/storage/retention-sweeper.service';
import { StoredObjectRepository } from '../../../src/core/storage/stored-object.repository';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

/** Deletes only while enabled, and counts. */
class FailingStorage extends LocalStorage {
  refused: (key: string) => boolean = () => false;
  readonly deletions: string[] = [];

  override async delete(key: string): Promise<void> {
    this.deletions.push(key);
    if (this.refused(key)) throw storageUnavailable(new Error('the disk is unavailable'));
    await super.delete(key);
  }
}

const RETENTION_HOURS = { image: 48, video: 168, music: 168 };
let database: TestDatabase;
let dataSource: DataSource;
let root: string;
let storage: FailingStorage;
let objects: StoredObjects;
let sweeper: RetentionSweeperService;
let warn: jest.SpyInstance;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await openDataSource(database.url, 4);
});
afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});
beforeEach(async () => {
  warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  await dataSource.query('TRUNCATE stored_object');
  root = mkdtempSync(join(tmpdir(), 'retention-'));
  const options = { root, secret: 's'.repeat(32), signedUrlTtlSeconds: 3_600, baseUrl: () => 'https://ai.example' };
  storage = new FailingStorage(options, systemClock);
  ({ objects, sweeper } = assemble());
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

function assemble(kept: FailingStorage | null = storage, source = dataSource) {
  const repository = new StoredObjectRepository(source);
  const config = {
    storage: { backend: { type: 'none' }, signedUrlTtlSeconds: 3_600, retentionHours: RETENTION_HOURS },
  };
  const objects = new StoredObjects(
    kept,
    repository,
    config as ConstructorParameters<typeof StoredObjects>[2],
    new Metrics(),
  );
  return { objects, sweeper: new RetentionSweeperService(kept, repository, objects) };
}

const newOwner = (kind: ObjectOwner['kind'] = 'image'): ObjectOwner => ({
  kind,
  organizationId: randomUUID(),
  id: randomUUID(),
});
const store = (owner: ObjectOwner, index = 0) =>
  objects.store({ ...owner, index, contentType: 'image/png', body: Buffer.from(`output ${index}`) });
const rows = () => dataSource.query<Row[]>('SELECT * FROM stored_object ORDER BY key');
/** As if so much time had passed. */
const age = (hours: number) =>
  dataSource.query(
    `UPDATE stored_object SET delete_at = delete_at - make_interval(hours => $1),
                              sweep_after = sweep_after - make_interval(hours => $1)`,
    [hours],
  );
const files = () =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

interface Row {
  readonly key: string;
  readonly kind: string;
  readonly organization_id: string;
  readonly size_bytes: string | null;
  readonly created_at: Date;
  readonly delete_at: Date;
}

describe('an output', () => {
  it.each(['image', 'video', 'music'] as const)(
    'of kind %s is recorded with its owner, size and time',
    async (kind) => {
      const owner = newOwner(kind);
      const { key, sizeBytes } = await store(owner);
      const [row] = (await rows()) as [Row];
      expect(row).toMatchObject({ key, kind, organization_id: owner.organizationId, size_bytes: String(sizeBytes) });
      const keptMs = row.delete_at.getTime() - row.created_at.getTime();
      expect(Math.round(keptMs / 3_600_000)).toBe(RETENTION_HOURS[kind]);
    },
  );

  it('from a stream is recorded with its final size', async () => {
    const body = Readable.from([Buffer.from('abc'), Buffer.from('de')]);
    await objects.store({ ...newOwner('video'), index: 0, contentType: 'video/mp4', body });
    expect(await rows()).toMatchObject([{ size_bytes: '5' }]);
  });

  it('has its row before it is stored, so that a crash leaves no untracked object', async () => {
    let seen: Row[] = [];
    const body = Readable.from(
      (async function* () {
        seen = await rows();
        yield Buffer.from('x');
      })(),
    );
    await objects.store({ ...newOwner(), index: 0, contentType: 'image/png', body });
    expect(seen).toMatchObject([{ size_bytes: null }]);
  });

  it('that cannot be stored leaves a row, which a sweep removes in its time', async () => {
    const body = new Readable({ read: () => body.destroy(new Error('no bytes')) });
    await expect(objects.store({ ...newOwner(), index: 0, contentType: 'image/png', body })).rejects.toThrow(
      'no bytes',
    );
    expect(await rows()).toHaveLength(1);
    await age(49);
    expect(await sweeper.sweep()).toBe(1);
    expect(await rows()).toEqual([]);
  });

  it('stored again by a repeated step is there once, and kept anew', async () => {
    const owner = newOwner();
    await store(owner);
    await age(47);
    await store(owner);
    const [row] = (await rows()) as [Row];
    expect(await rows()).toHaveLength(1);
    expect(row.delete_at.getTime() - row.created_at.getTime()).toBeGreaterThan(47.9 * 3_600_000);
  });

  it('cannot be stored again after its expiry, since a sweep may be deleting it', async () => {
    const owner = newOwner();
    await store(owner);
    await age(48);
    await expect(store(owner)).rejects.toThrow('has expired');
  });

  it('can be signed again from an address that was given out', async () => {
    const { key } = await store(newOwner());
    const { url } = await objects.sign(key);
    expect(objects.keyOf(url)).toBe(key);
  });
});

describe('an outage', () => {
  it('is logged once for each of its causes, and so is its end', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const fail = async (code: string) => {
      const cause = Object.assign(new Error(`${code}: open '${randomUUID()}'`), { code });
      jest.spyOn(storage, 'put').mockRejectedValueOnce(storageUnavailable(cause));
      await expect(store(newOwner())).rejects.toMatchObject({ code: 'service_unavailable' });
    };
    for (const code of ['ENOSPC', 'ENOSPC', 'EACCES', 'ENOSPC']) await fail(code);
    await store(newOwner());
    await fail('ENOSPC');
    const lines = [...error.mock.calls, ...warn.mock.calls].map(([{ event, message }]) => [event, message]);
    expect(lines).toEqual([
      ['storage_unavailable', expect.stringContaining('ENOSPC')],
      ['storage_unavailable', expect.stringContaining('EACCES')],
      ['storage_unavailable', expect.stringContaining('ENOSPC')],
      ['storage_available', expect.any(String)],
    ]);
  });
});

describe('without a storage', () => {
  it('nothing is stored or signed, and that is said', async () => {
    const none = assemble(null).objects;
    expect(none.isConfigured).toBe(false);
    expect(none.keyOf('https://ai.example/v1/objects/x')).toBeNull();
    const body = Buffer.from('x');
    await expect(none.store({ ...newOwner(), index: 0, contentType: 'image/png', body })).rejects.toMatchObject({
      code: 'not_configured',
    });
    expect(() => none.sign('image/x')).toThrow('no object storage');
    expect(await rows()).toEqual([]);
  });
});

describe('the sweep', () => {
  it('deletes only expired objects and their rows', async () => {
    const [old, young] = [newOwner('image'), newOwner('video')];
    await store(old);
    await store(young);
    await age(48);
    expect(await sweeper.sweep()).toBe(1);
    expect(await rows()).toMatchObject([{ organization_id: young.organizationId }]);
    expect(files()).toEqual(['0.png']);
  });

  it('removes the row of an object that was already deleted', async () => {
    const { key } = await store(newOwner());
    await storage.delete(key);
    await age(48);
    expect(await sweeper.sweep()).toBe(1);
    expect(await rows()).toEqual([]);
  });

  it('goes on until nothing is left, over several batches', async () => {
    const owner = newOwner();
    await Promise.all(Array.from({ length: 250 }, (_, index) => store(owner, index)));
    await age(48);
    expect(await sweeper.sweep()).toBe(250);
    expect([await rows(), files()]).toEqual([[], []]);
  });

  it('shares the work with the sweep of another process: each object is deleted by one of them', async () => {
    const owner = newOwner();
    await Promise.all(Array.from({ length: 250 }, (_, index) => store(owner, index)));
    await age(48);
    const counts = await Promise.all([sweeper.sweep(), assemble().sweeper.sweep()]);
    expect(counts[0] + counts[1]).toBe(250);
    expect(storage.deletions.toSorted()).toEqual([...new Set(storage.deletions)].toSorted());
    expect([await rows(), files()]).toEqual([[], []]);
  });

  it('keeps the row of what could not be deleted, and tries again after its claim', async () => {
    const owner = newOwner();
    const { key } = await store(owner);
    await store(owner, 1);
    await age(48);
    storage.refused = (refused) => refused === key;
    expect(await sweeper.sweep()).toBe(1);
    storage.refused = () => false;
    expect(await rows()).toMatchObject([{ key }]);
    expect(await sweeper.sweep()).toBe(0);
    await age(1);
    expect(await sweeper.sweep()).toBe(1);
    expect([await rows(), files()]).toEqual([[], []]);
  });

  it('gives up at once when nothing can be deleted, and says so once until it works again', async () => {
    const owner = newOwner();
    await Promise.all(Array.from({ length: 100 }, (_, index) => store(owner, index)));
    await age(48);
    storage.refused = () => true;
    expect(await sweeper.sweep()).toBe(0);
    expect(storage.deletions).toHaveLength(10);
    await age(1);
    expect(await sweeper.sweep()).toBe(0);
    expect(warn.mock.calls).toEqual([
      [{ event: 'retention_sweep_failed', message: expect.stringContaining('the disk is unavailable') }],
    ]);
    await age(1);
    storage.refused = () => false;
    expect(await sweeper.sweep()).toBe(100);
    await store(newOwner());
    await age(48);
    storage.refused = () => true;
    await sweeper.sweep();
    expect(warn).toHaveBeenCalledTimes(2);
  });
});

describe('deleting all of a request or job', () => {
  it('deletes its outputs at once and no others', async () => {
    const [owner, other] = [newOwner(), newOwner()];
    const sibling = { ...owner, id: randomUUID() };
    await Promise.all([
      store(owner, 0),
      store(owner, 1),
      store(other),
      store(sibling),
      store({ ...owner, kind: 'music' }),
    ]);
    await objects.deleteAll(owner);
    expect(await rows()).toHaveLength(3);
    expect(files()).toHaveLength(3);
    await objects.deleteAll(owner);
    expect(await rows()).toHaveLength(3);
  });

  it('leaves objects that cannot be deleted now to the sweep, and refuses to store them again', async () => {
    const owner = newOwner();
    await store(owner);
    storage.refused = () => true;
    await objects.deleteAll(owner);
    await expect(store(owner)).rejects.toThrow('has expired');
    storage.refused = () => false;
    expect(await sweeper.sweep()).toBe(0);
    await age(1);
    expect(await sweeper.sweep()).toBe(1);
    expect([await rows(), files()]).toEqual([[], []]);
  });
});

describe('an unavailable database', () => {
  it('is service_unavailable, and nothing is stored without a row', async () => {
    const gone = createDataSource({ url: database.url, poolSize: 1 });
    await gone.initialize();
    await gone.destroy();
    const away = assemble(storage, gone).objects;
    const body = Buffer.from('x');
    await expect(away.store({ ...newOwner(), index: 0, contentType: 'image/png', body })).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    await expect(away.deleteAll(newOwner())).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(files()).toEqual([]);
  });
});
