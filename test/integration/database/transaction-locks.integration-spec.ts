import type { DataSource, EntityManager } from 'typeorm';
import { lockPayment } from '../../../src/billing/payments/purchase.repository';
import { SecretBox } from '../../../src/core/secrets/secret-box';
import { lockCatalog } from '../../../src/models/catalog.repository';
import { ProviderInstanceRepository } from '../../../src/models/credentials/provider-instance.repository';
import { WebhookLogRepository } from '../../../src/webhooks/webhook-log.repository';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

const ORGANIZATION = '00000000-0000-7000-8000-000000000001';

/** Each lock by the name that earlier versions of the gateway take. */
const LOCKS: ReadonlyArray<readonly [string, (manager: EntityManager, dataSource: DataSource) => Promise<unknown>]> = [
  ['stripe:pi_1', (manager) => lockPayment(manager, 'stripe', 'pi_1')],
  ['catalogue import', lockCatalog],
  [
    'provider instance vllm-1',
    (manager, dataSource) =>
      new ProviderInstanceRepository(dataSource, new SecretBox(['ab'.repeat(32)])).lock(manager, 'vllm-1'),
  ],
  [
    `webhook tests ${ORGANIZATION}`,
    (manager, dataSource) => new WebhookLogRepository(dataSource).waitForTest(manager, ORGANIZATION, 60, 10),
  ],
];

describe('locks of transactions', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 2);
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it.each(LOCKS)('keep the version before out of “%s” until the transaction ends', async (name, lock) => {
    const isFree = async (): Promise<boolean> => {
      const [row] = await dataSource.query<{ free: boolean }[]>(
        'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS free',
        [name],
      );
      return row?.free === true;
    };
    await dataSource.transaction(async (manager) => {
      await lock(manager, dataSource);
      expect(await isFree()).toBe(false);
    });
    expect(await isFree()).toBe(true);
  });
});
