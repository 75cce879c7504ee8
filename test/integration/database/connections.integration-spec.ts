import { createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import { createFailoverClient } from '../../../src/core/database/failover-client';
import { createMoneyPool } from '../../../src/core/database/money-pool';
import { onceReachable } from '../../../src/core/database/once-reachable';
import { allowedMs } from '../../faults/figures';
import { findFreePort } from '../../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { FaultProxy } from '../../harness/fault-proxy';

describe('connections to PostgreSQL', () => {
  let database: TestDatabase;
  let pool: Pool;
  const poolErrors: Error[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createMoneyPool({ url: database.url, poolSize: 2, onPoolError: (error) => poolErrors.push(error) });
  });

  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it('give money its time limits and a commit that is on disk when it returns', async () => {
    const { rows } = await pool.query(
      `SELECT name, setting FROM pg_settings
        WHERE name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit')
        ORDER BY name`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      idle_in_transaction_session_timeout: '5000',
      lock_timeout: '1000',
      statement_timeout: '2000',
      synchronous_commit: 'on',
    });
  });

  it('read amounts of money as bigint', async () => {
    const { rows } = await pool.query(`SELECT 9007199254740993::bigint AS amount`);
    expect(rows).toEqual([{ amount: 9007199254740993n }]);
  });

  it('report an idle connection that the server ended, and work on with a new one', async () => {
    const client = await pool.connect();
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    client.release();
    const broken = once(pool, 'error');
    const killer = await createDataSource({ url: database.url, poolSize: 1 }).initialize();
    await killer.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    await killer.destroy();
    await broken;
    expect(poolErrors).toHaveLength(1);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('end a query, and not the process, when the server ends one that is in use', async () => {
    const client = await pool.connect();
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    await ended;
    await expect(client.query('SELECT 1')).rejects.toThrow('not queryable');
    client.release(true);
  });

  it('give up within three seconds on a server that accepts and never answers', async () => {
    const silent: Server = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const startedAtMs = performance.now();
    await expect(
      createDataSource({ url: `postgres://u@127.0.0.1:${port}/d`, poolSize: 1 }).initialize(),
    ).rejects.toThrow(/timeout/);
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(3_000));
    silent.close();
  });

  it('all leave a server that has become read-only after one refused write, busy ones included', async () => {
    const client = createFailoverClient();
    const dataSource = await createDataSource({ url: database.url, poolSize: 2, client }).initialize();
    const money = createMoneyPool({ url: database.url, poolSize: 1, client, onPoolError: () => undefined });
    const pidOf = async (source: Pick<DataSource, 'query'>): Promise<number> =>
      (await source.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid'))[0]?.pid ?? 0;
    const runner = dataSource.createQueryRunner();
    const [busy, idle] = [await pidOf(runner), await pidOf(dataSource)];
    const demoted = await money.connect();
    const left = new Promise((resolve) => demoted.once('end', resolve));
    await demoted.query('SET default_transaction_read_only = on');
    await expect(demoted.query('CREATE TABLE refused ()')).rejects.toMatchObject({ code: '25006' });
    await left;
    demoted.release(true);
    await expect(runner.query('SELECT 1')).rejects.toThrow();
    await runner.release();
    const pids = await Promise.all([pidOf(dataSource), pidOf(dataSource)]);
    expect(pids.filter((pid) => pid === busy || pid === idle)).toEqual([]);
    await Promise.all([dataSource.destroy(), money.end()]);
  });

  describe('through a network that loses them', () => {
    let wire: FaultProxy;
    let dataSource: DataSource;

    beforeEach(async () => {
      wire = await FaultProxy.start(database.url);
      const settings = { url: wire.url, poolSize: 1, statementTimeoutMs: 100, client: createFailoverClient() };
      dataSource = await createDataSource(settings).initialize();
      await dataSource.query('CREATE TABLE note (text text)');
    });

    afterEach(async () => {
      wire.heal();
      await dataSource.query('DROP TABLE note');
      await dataSource.destroy();
      await wire.close();
    });

    it('leave a server that vanished without closing them, after the first query that got no answer', async () => {
      const lost = wire.connections;
      wire.fail('both', { hang: true });
      await expect(dataSource.query('SELECT 1')).rejects.toThrow('Query read timeout');
      wire.heal();
      expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(wire.connections).toBe(lost + 1);
    });

    it('leave no transaction open in which the statements of others would be lost', async () => {
      const interrupted = dataSource.transaction(async (manager) => {
        await manager.query(`INSERT INTO note VALUES ('interrupted')`);
        wire.fail('both', { hang: true });
        await manager.query('SELECT 1');
      });
      await expect(interrupted).rejects.toThrow('Query read timeout');
      wire.heal();
      await dataSource.query(`INSERT INTO note VALUES ('later')`);
      expect((await pool.query('SELECT text FROM note')).rows).toEqual([{ text: 'later' }]);
    });
  });

  describe('at a start', () => {
    /** Opens a data source at one address after another, and says how many it took. */
    async function attempts(urlAt: (attempt: number) => string): Promise<number> {
      let count = 0;
      const opened = onceReachable(() => createDataSource({ url: urlAt((count += 1)), poolSize: 1 }).initialize());
      await opened.then((dataSource) => dataSource.destroy()).catch(() => undefined);
      return count;
    }

    it('wait for a server that is there a moment later', async () => {
      const unreachable = `postgres://u@127.0.0.1:${await findFreePort()}/d`;
      expect(await attempts((attempt) => (attempt < 3 ? unreachable : database.url))).toBe(3);
    });

    it('do not wait where the server is there and has no such database', async () => {
      expect(await attempts(() => `${database.url}_missing`)).toBe(1);
    });
  });
});
