import { runMigrations } from '../../src/core/database/run-migrations';
import { endChildren, findFreePort } from '../harness/child-process';
import { createEmptyTestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { until } from './figures';

describe('a gateway that waits for migrations', () => {
  afterEach(endChildren);

  it('is live and not serving on the management port, and serves there once they are applied', async () => {
    const database = await createEmptyTestDatabase();
    const directory = createDataDirectory();
    const port = await findFreePort();
    const gateway = GatewayProcess.launch({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      dataDir: directory.path,
      environment: { MIGRATE_ON_START: 'false', MANAGEMENT_PORT: String(port) },
    });
    const probe = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        ({ status }) => status,
        () => 0,
      );
    await until('an answer of /live', 30_000, async () => (await probe('/live')) === 200);
    expect([await probe('/serving'), await probe('/ready')]).toEqual([503, 503]);
    await runMigrations(database.url);
    await gateway.ready();
    await until('serving', 30_000, async () => (await probe('/serving')) === 200);
    await gateway.stop();
    await database.drop();
    directory.remove();
  });
});
