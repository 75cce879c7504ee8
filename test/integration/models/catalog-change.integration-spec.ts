import { Redis } from 'ioredis';
import {
  CatalogChangeListener,
  ModelCatalogService,
  publishCatalogChange,
} from '../../../src/models/model-catalog.service';
import type { StoredCatalog } from '../../../src/models/catalog-rows';
import { createTestRedis } from '../../harness/redis';

describe('CatalogChangeListener', () => {
  it('reloads the catalogue after subscribing and after every published change', async () => {
    const redis = new Redis(createTestRedis().url);
    const waiting: (() => void)[] = [];
    let reads = 0;
    const read = (): Promise<StoredCatalog> => {
      reads++;
      for (const resolve of waiting.splice(0)) resolve();
      return Promise.resolve({ models: [], deployments: [], prices: [] });
    };
    const nextRead = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
    const clock = { now: () => 0, monotonic: () => 0 };
    const listener = new CatalogChangeListener(
      redis,
      new ModelCatalogService({ read }, { configuredIds: new Set() }, clock),
    );
    try {
      const first = nextRead();
      listener.onModuleInit();
      await first;
      const second = nextRead();
      await publishCatalogChange(redis);
      await second;
      expect(reads).toBeGreaterThanOrEqual(2);
    } finally {
      listener.onModuleDestroy();
      redis.disconnect();
    }
  });

  it('does not fail the change when Redis is down', async () => {
    await expect(
      publishCatalogChange({ publish: () => Promise.reject(new Error('unavailable')) }),
    ).resolves.toBeUndefined();
  });
});
