import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { DataSource } from 'typeorm';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { systemClock } from '../../../src/core/time/clock';
import { createDataSource } from '../../../src/core/database/data-source';
import { LocalStorage } from '../../../src/core/storage/local-storage';
import type { ObjectOwner } from '../../../src/core/storage/object-key';
import { StoredObjectRepository } from '../../../src/core/storage/stored-object.repository';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

describe('an output whose owner is deleted while it is stored', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let root: string;
  let storage: LocalStorage;
  let repository: StoredObjectRepository;
  let objects: StoredObjects;
  let owner: ObjectOwner;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await createDataSource({ url: database.url, poolSize: 4 }).initialize();
    repository = new StoredObjectRepository(dataSource);
  });
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'deletion-races-'));
    const options = { root, secret: 's'.repeat(32), signedUrlTtlSeconds: 3_600, baseUrl: () => 'https://ai.example' };
    storage = new LocalStorage(options, systemClock);
    const retentionHours = { image: 48, video: 168, music: 168 };
    const config = { storage: { backend: { type: 'none' }, signedUrlTtlSeconds: 3_600, retentionHours } };
    objects = new StoredObjects(
      storage,
      repository,
      config as ConstructorParameters<typeof StoredObjects>[2],
      new Metrics(),
    );
    owner = { kind: 'video', organizationId: randomUUID(), id: randomUUID() };
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  /** Begins to store a file, does `meanwhile` when half of it has been written, and lets the rest come. */
  async function storeAround(meanwhile: () => Promise<void>): Promise<void> {
    async function* body() {
      yield Buffer.from('one half');
      await meanwhile();
      yield Buffer.from('the other half');
    }
    await objects.store({ ...owner, index: 0, contentType: 'video/mp4', body: Readable.from(body()) });
  }
  const files = () =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);

  it('is not left behind when all else of it has gone', async () => {
    await expect(storeAround(() => objects.deleteAll(owner))).rejects.toThrow('deleted');
    expect(files()).toEqual([]);
  });

  it('is not left behind when the deletion has passed it by and is about to forget it', async () => {
    let keys: string[] = [];
    const deletion = async () => {
      keys = await repository.claimOf(owner);
      for (const key of keys) await storage.delete(key);
    };
    await expect(storeAround(deletion)).rejects.toThrow('deleted');
    await repository.forget(keys);
    expect([keys.length, files()]).toEqual([1, []]);
  });

  it('goes with its row when it is deleted right after', async () => {
    await storeAround(() => Promise.resolve());
    expect(files()).toHaveLength(1);
    await objects.deleteAll(owner);
    expect(files()).toEqual([]);
  });
});
