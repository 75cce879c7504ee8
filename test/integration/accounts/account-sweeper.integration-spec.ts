import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { AccountSweeperService } from '../../../src/dashboard/accounts/account-sweeper.service';
import { systemClock } from '../../../src/core/time/clock';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';

describe('the sweeper of accounts', () => {
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

  const insertUser = async (name: string, ageDays: number, verified: boolean, status = 'active') => {
    const id = randomUUID();
    await dataSource.query(
      `INSERT INTO user_account (id, email, email_key, name, password_hash, status, created_at, email_verified_at)
       VALUES ($1, $2, $2, $3, 'none', $4, now() - $5 * interval '1 day', CASE WHEN $6 THEN now() END)`,
      [id, `${id}@example.com`, name, status, ageDays, verified],
    );
    return id;
  };

  it('deletes only expired rows', async () => {
    const owner = await insertUser('verified long ago', 400, true);
    await insertUser('waiting', 29, false);
    await insertUser('never verified', 31, false);
    await insertUser('disabled', 31, false, 'disabled');
    const returned = await insertUser('registered again', 31, false);
    await dataSource.query(
      `INSERT INTO user_token (id, user_id, digest, created_at, purpose, expires_at)
       VALUES (gen_random_uuid(), $1, sha256('again'), now(), 'reset_password', now() + interval '1 minute')`,
      [returned],
    );
    for (const table of ['user_session', 'user_token']) {
      for (const minutes of [-1, 1]) {
        const columns = table === 'user_session' ? 'last_seen_at' : 'purpose';
        const value = table === 'user_session' ? 'now()' : `'verify_email'`;
        await dataSource.query(
          `INSERT INTO ${table} (id, user_id, digest, created_at, ${columns}, expires_at)
           VALUES (gen_random_uuid(), $1, sha256($2), now(), ${value}, now() + $3 * interval '1 minute')`,
          [owner, Buffer.from(String(minutes)), minutes],
        );
      }
    }

    await new AccountSweeperService(dataSource, systemClock).sweep();

    const users = await dataSource.query<{ name: string }[]>('SELECT name FROM user_account ORDER BY name');
    expect(users.map(({ name }) => name)).toEqual(['disabled', 'registered again', 'verified long ago', 'waiting']);
    for (const table of ['user_session', 'user_token']) {
      const rows = await dataSource.query(`SELECT expires_at > now() AS alive FROM ${table} WHERE user_id = $1`, [
        owner,
      ]);
      expect(rows).toEqual([{ alive: true }]);
    }
  });

  it('keeps an account that is being registered again', async () => {
    const id = await insertUser('first', 31, false);
    let swept: Promise<unknown> | undefined;
    await dataSource.transaction(async (registration) => {
      await registration.query(`UPDATE user_account SET name = 'again' WHERE id = $1`, [id]);
      await registration.query(
        `INSERT INTO user_token (id, user_id, digest, created_at, purpose, expires_at)
         VALUES (gen_random_uuid(), $1, sha256('proof'), now(), 'verify_email', now() + interval '1 minute')`,
        [id],
      );
      // A sweep that waits for the registration would delete the account as it was before.
      const [{ pid }] = await registration.query('SELECT pg_backend_pid() AS pid');
      const sweep = new AccountSweeperService(dataSource, systemClock).sweep().then(() => true);
      const isWaiting = async (): Promise<boolean> => {
        const rows = await registration.query<object[]>(
          'SELECT FROM pg_locks WHERE NOT granted AND $1 = ANY (pg_blocking_pids(pid))',
          [pid],
        );
        return rows.length > 0;
      };
      for (;;) if (await Promise.race([sweep, isWaiting()])) break;
      swept = sweep;
    });
    await swept;
    expect(await dataSource.query('SELECT name FROM user_account WHERE id = $1', [id])).toEqual([{ name: 'again' }]);
  });
});
