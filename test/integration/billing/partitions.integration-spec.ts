import type { Pool, PoolClient } from 'pg';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';
import { type Account, createAccount, newId } from './money-engine';

describe('the money functions', () => {
  let database: TestDatabase;
  let pool: Pool;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createTestPool(database.url, 1);
    account = await createAccount(pool);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const reserve = (client: PoolClient, id: string) =>
    client.query(
      `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], '{9}', '{60}', 'me') AS answer`,
      [id, account.organizationId, account.keyId],
    );
  const finish = (client: PoolClient, id: string) =>
    client.query(`SELECT money_finish(ARRAY[$1::uuid], ARRAY[$2::uuid], '{settled}', '{7}') AS answer`, [
      id,
      account.organizationId,
    ]);

  /** The partitions that the transaction has locked. */
  async function lockedPartitions(client: PoolClient): Promise<string[]> {
    const { rows } = await client.query<{ name: string }>(
      `SELECT DISTINCT c.relname AS name FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.pid = pg_backend_pid() AND c.relispartition AND c.relkind = 'r' ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  }

  it('lock only the partitions of their ids, whatever the plans of the session are', async () => {
    const today = (await pool.query<{ day: string }>(`SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') AS day`))
      .rows[0];
    await inSandbox(pool, async (client) => {
      // More often than PostgreSQL tries custom plans.
      for (let repetition = 0; repetition < 8; repetition++) {
        const id = newId();
        expect((await reserve(client, id)).rows).toEqual([{ answer: 'held' }]);
        expect((await finish(client, id)).rows).toEqual([{ answer: 'applied,7,0' }]);
        expect((await finish(client, id)).rows).toEqual([{ answer: 'settled,7,0' }]);
        expect((await reserve(client, id)).rows).toEqual([{ answer: 'conflict' }]);
      }
      expect(await lockedPartitions(client)).toEqual([`ended_reservation_${today?.day}`, `usage_record_${today?.day}`]);
    });
  });

  it('find a reservation of any day, also in the first and the last partition', async () => {
    await inSandbox(pool, async (client) => {
      for (const id of ['00000000-0000-7000-8000-000000000001', 'ffffffff-0000-7000-8000-000000000001']) {
        await reserve(client, id);
        await finish(client, id);
        expect((await finish(client, id)).rows).toEqual([{ answer: 'settled,7,0' }]);
        expect((await reserve(client, id)).rows).toEqual([{ answer: 'conflict' }]);
      }
    });
  });
});
