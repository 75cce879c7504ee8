import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { createDataSource } from '../../../src/core/database/data-source';
import {
  DEFAULT_IDEMPOTENCY_OPTIONS,
  type IdempotencyOptions,
  type ResponseBytes,
  ResponseStore,
} from '../../../src/auth/idempotency/response-store';
import { IdempotencyService } from '../../../src/auth/idempotency/idempotency.service';
import { IdempotencySweeperService } from '../../../src/auth/idempotency/idempotency-sweeper.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { FaultProxy } from '../../harness/fault-proxy';
import {
  createAccount,
  settleCommand,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
} from '../billing/money-engine';
import { claimOf, COMPLETION, completing, keyedCommand, REQUEST, responseMemory } from './keyed-commands';

Logger.overrideLogger(false);

let database: TestDatabase;
let engine: MoneyEngine;
let dataSource: DataSource;
let account: Account;

beforeAll(async () => {
  database = await createTestDatabase();
  engine = startMoneyEngine(database.url);
  dataSource = await openDataSource(database.url, 8);
});
beforeEach(async () => {
  account = await createAccount(engine.pool);
});
afterAll(async () => {
  await engine.close();
  await dataSource.destroy();
  await database.drop();
});

const storeWith = (options: Partial<IdempotencyOptions> = {}, source = dataSource) =>
  new ResponseStore(source, { ...DEFAULT_IDEMPOTENCY_OPTIONS, ...options });
const service = () => new IdempotencyService(dataSource, new Metrics(), responseMemory());
const sweep = () => new IdempotencySweeperService(dataSource).sweep();

/** A request that was answered and charged; `body` around the gap for the charge. */
async function answer(key: string, head: ResponseBytes, tail: string | null, store = storeWith()): Promise<string> {
  const command = keyedCommand(account, 100n, claimOf(key));
  await engine.reservations.reserve(command);
  const bodyStored = await store.keep(command.reservationId, account.organizationId, head, tail);
  await engine.reservations.finish(completing(settleCommand(command, 42n), { ...COMPLETION, bodyStored }));
  return command.reservationId;
}
const lookUp = (key: string, request = REQUEST) => service().lookUp(account.organizationId, claimOf(key), request);

/** The stored bytes, and the value of the counter. */
async function stored(): Promise<{ bodies: number; bytes: number; counted: number }> {
  const [row] = await dataSource.query<{ bodies: string; bytes: string; counted: string }[]>(
    `SELECT count(b.reservation_id) AS bodies, COALESCE(sum(b.bytes), 0) AS bytes,
            COALESCE((SELECT stored_bytes FROM idempotency_storage WHERE organization_id = $1), 0) AS counted
       FROM idempotency_body b WHERE b.organization_id = $1`,
    [account.organizationId],
  );
  return { bodies: Number(row?.bodies), bytes: Number(row?.bytes), counted: Number(row?.counted) };
}

describe('a stored answer', () => {
  it('is read with few connections, however often one organization asks for it', async () => {
    await answer('long', Buffer.alloc(1_048_576, 'x'), null);
    const idempotency = service();
    const ask = dataSource.query.bind(dataSource);
    let reading = 0;
    let most = 0;
    const query = jest.spyOn(dataSource, 'query').mockImplementation(async (...asking) => {
      if (!asking[0].includes('substring(head')) return ask(...asking);
      most = Math.max(most, ++reading);
      return ask(...asking).finally(() => reading--);
    });
    const asked = Array.from({ length: 8 }, () => idempotency.lookUp(account.organizationId, claimOf('long'), REQUEST));
    const replays = await Promise.all(asked);
    query.mockRestore();
    expect(replays.map((replay) => replay?.body.length)).toEqual(Array(8).fill(1_048_576));
    expect(most).toBe(2);
  });

  it.each([
    ['before it is read', 0],
    ['between two pieces of it', 1],
  ])('is read no further for a client that disconnects %s', async (_moment, pieces) => {
    await answer('gone', Buffer.alloc(9 * 1_048_576, 'x'), null);
    const query = jest.spyOn(dataSource, 'query');
    const readings = () => query.mock.calls.filter(([sql]) => sql.includes('substring(head')).length;
    const connection = {
      ...REQUEST.connection,
      get closed(): boolean {
        return readings() === pieces;
      },
    };
    await expect(lookUp('gone', { ...REQUEST, connection })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(readings()).toBe(pieces);
    query.mockRestore();
  });

  it('comes back byte for byte, with the charge in its gap', async () => {
    await answer('text', '{"é":', '}\n');
    const found = await lookUp('text');
    expect(found?.body.toString()).toBe('{"é":42}\n');
    expect(found?.headers).toEqual({
      'content-type': 'application/json',
      'x-llm-model': 'mock/chat-1',
      'x-llm-cost-micro': '42',
    });
  });

  it('may be any bytes, without a gap', async () => {
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
    await answer('binary', bytes, null);
    expect((await lookUp('binary'))?.body.equals(bytes)).toBe(true);
  });

  it('in pieces comes back in one', async () => {
    await answer('pieces', [Buffer.from('{"é":'), Buffer.from('[1],"cost":')], '}');
    expect((await lookUp('pieces'))?.body.toString()).toBe('{"é":[1],"cost":42}');
  });

  it('of 30 MiB comes back whole, and is never read in one piece that would hold up others', async () => {
    const bytes = Buffer.alloc(30 * 1_048_576, 'abcdefg');
    await answer('large', bytes, '}');
    const query = jest.spyOn(dataSource, 'query');
    const found = await lookUp('large');
    const results = (await Promise.all(query.mock.results.map(({ value }) => value as Promise<object[]>))).flat();
    query.mockRestore();
    expect(found?.body.equals(Buffer.concat([bytes, Buffer.from('42}')]))).toBe(true);
    const lengths = results.flatMap((row) => Object.values(row)).filter(Buffer.isBuffer);
    expect(Math.max(...lengths.map(({ length }) => length))).toBeLessThanOrEqual(4 * 1_048_576);
  });

  it('has no owner after it expires, by the clock of the database', async () => {
    const id = await answer('old', 'a', null);
    await dataSource.query(`UPDATE idempotency_record SET expires_at = now() WHERE reservation_id = $1`, [id]);
    expect(await lookUp('old')).toBeNull();
    const [row] = await dataSource.query<{ hours: number }[]>(
      `SELECT extract(epoch FROM expires_at - completed_at)::integer / 3600 AS hours
         FROM idempotency_record WHERE reservation_id = $1`,
      [await answer('new', 'a', null)],
    );
    expect(row?.hours).toBe(24);
  });

  it('that has lost its body is never run again', async () => {
    const id = await answer('lost', 'a', null);
    await dataSource.query(`DELETE FROM idempotency_body WHERE reservation_id = $1`, [id]);
    await expect(lookUp('lost')).rejects.toMatchObject({
      code: 'idempotency_conflict',
      retryAfterSeconds: undefined,
      details: { reason: 'response_not_stored' },
    });
  });
});

describe('the room for answers', () => {
  it('ends at the longest answer that is stored, to the byte', async () => {
    const store = storeWith({ maxResponseBytes: 4 });
    expect(await store.keep(randomUUID(), account.organizationId, 'éa', 'b')).toBe(true);
    expect(await store.keep(randomUUID(), account.organizationId, 'éa', 'bc')).toBe(false);
    const pieces = [Buffer.from('é'), Buffer.from('a')];
    expect(await store.keep(randomUUID(), account.organizationId, pieces, 'b')).toBe(true);
    expect(await store.keep(randomUUID(), account.organizationId, pieces, 'bc')).toBe(false);
    expect(await stored()).toEqual({ bodies: 2, bytes: 8, counted: 8 });
  });

  it('is never exceeded by an organization, also when many answers come at once', async () => {
    const store = storeWith({ maxOrganizationBytes: 1_000 });
    const kept = await Promise.all(
      Array.from({ length: 40 }, () => store.keep(randomUUID(), account.organizationId, Buffer.alloc(90), null)),
    );
    expect(kept.filter(Boolean)).toHaveLength(11);
    expect(await stored()).toEqual({ bodies: 11, bytes: 990, counted: 990 });
    const elsewhere = await createAccount(engine.pool);
    expect(await store.keep(randomUUID(), elsewhere.organizationId, Buffer.alloc(90), null)).toBe(true);
  });

  it('is taken once for an answer that is sent to the database again', async () => {
    const id = randomUUID();
    expect(await storeWith().keep(id, account.organizationId, 'a', null)).toBe(true);
    expect(await storeWith().keep(id, account.organizationId, 'a', null)).toBe(true);
    expect(await stored()).toEqual({ bodies: 1, bytes: 1, counted: 1 });
  });

  it('is not taken by an answer that the database refuses', async () => {
    expect(await storeWith().keep('not a UUID', account.organizationId, 'a', null)).toBe(false);
    expect(await stored()).toMatchObject({ bodies: 0, counted: 0 });
  });

  it('waits for an unavailable database, and gives up when its caller does', async () => {
    const wire = await FaultProxy.start(database.url);
    const cutOff = await createDataSource({ url: wire.url, poolSize: 1 }).initialize();
    wire.cutOff();
    const caller = new AbortController();
    const abandoned = storeWith({}, cutOff).keep(randomUUID(), account.organizationId, 'b', null, caller.signal);
    caller.abort();
    await expect(abandoned).rejects.toMatchObject({ name: 'AbortError' });
    const keeping = storeWith({}, cutOff).keep(randomUUID(), account.organizationId, 'a', null);
    setTimeout(() => wire.heal(), 250);
    expect(await keeping).toBe(true);
    expect(await stored()).toEqual({ bodies: 1, bytes: 1, counted: 1 });
    await cutOff.destroy();
    await wire.close();
  });
});

describe('the sweep', () => {
  const age = (id: string, interval: string) =>
    dataSource.query(`UPDATE idempotency_body SET created_at = created_at - $2::interval WHERE reservation_id = $1`, [
      id,
      interval,
    ]);
  const expire = (id: string) =>
    dataSource.query(`UPDATE idempotency_record SET expires_at = now() WHERE reservation_id = $1`, [id]);

  it('deletes expired records and bodies, and frees their space', async () => {
    const [old] = [await answer('old', 'abc', null), await answer('new', 'de', null)];
    await expire(old);
    await age(old, '24 hours');
    await sweep();
    expect(await stored()).toEqual({ bodies: 1, bytes: 2, counted: 2 });
    expect(await lookUp('new')).not.toBeNull();
  });

  it('forgets a body whose request never completed, but not while it still may', async () => {
    const orphan = randomUUID();
    await storeWith().keep(orphan, account.organizationId, 'abc', null);
    await age(orphan, '1499 minutes');
    await sweep();
    expect(await stored()).toMatchObject({ bodies: 1 });
    await age(orphan, '2 minutes');
    await sweep();
    expect(await stored()).toEqual({ bodies: 0, bytes: 0, counted: 0 });
  });

  it('reads only the records that it deletes, not all stored ones', async () => {
    const values = [account.organizationId, claimOf('any').fingerprint];
    await dataSource.query(
      `WITH made AS (
         INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id, state, status,
                                         headers, charged_micro, body_stored, completed_at, expires_at)
           SELECT $1, 'many', n::text, decode($2, 'hex'), gen_random_uuid(), 'completed', 200, '{}', 0, true, now(),
                  CASE WHEN n <= 20 THEN now() ELSE now() + interval '1 hour' END
             FROM generate_series(1, 5000) n RETURNING organization_id, reservation_id
       )
       INSERT INTO idempotency_body (reservation_id, organization_id, head, bytes, created_at)
         SELECT reservation_id, organization_id, 'x', 1, now() - interval '24 hours' FROM made`,
      values,
    );
    await dataSource.query('INSERT INTO idempotency_storage VALUES ($1, 5000)', [account.organizationId]);
    await dataSource.query('ANALYZE idempotency_record, idempotency_body');
    const rowsRead = await dataSource.transaction(async (manager) => {
      await manager.query('SELECT idempotency_sweep(500)');
      const [{ read }] = await manager.query<[{ read: number }]>(
        `SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0))::integer AS read
           FROM pg_stat_xact_user_tables WHERE relname IN ('idempotency_record', 'idempotency_body')`,
      );
      return read;
    });
    expect(await stored()).toEqual({ bodies: 4_980, bytes: 4_980, counted: 4_980 });
    expect(rowsRead).toBeLessThan(500);
  });

  it('never touches a key in progress, however old', async () => {
    const command = keyedCommand(account, 1n, claimOf('slow'));
    await engine.reservations.reserve(command);
    await dataSource.query(`UPDATE idempotency_record SET created_at = now() - interval '9 days'`);
    await sweep();
    await expect(lookUp('slow')).rejects.toMatchObject({ code: 'idempotency_conflict' });
  });

  it('clears more than one batch, and is done once when several sweep at the same time', async () => {
    await dataSource.query(
      `INSERT INTO idempotency_body (reservation_id, organization_id, head, bytes, created_at)
       SELECT gen_random_uuid(), $1, 'x', 1, now() - interval '26 hours' FROM generate_series(1, 1200)`,
      [account.organizationId],
    );
    await dataSource.query('INSERT INTO idempotency_storage VALUES ($1, 1200)', [account.organizationId]);
    await Promise.all([sweep(), sweep(), sweep()]);
    await sweep();
    expect(await stored()).toEqual({ bodies: 0, bytes: 0, counted: 0 });
  });
});

it('refuses to guess when the database does not answer', async () => {
  const gone = createDataSource({ url: database.url, poolSize: 1 });
  await gone.initialize();
  await gone.destroy();
  await expect(
    new IdempotencyService(gone, new Metrics(), responseMemory()).lookUp(
      account.organizationId,
      claimOf('key'),
      REQUEST,
    ),
  ).rejects.toMatchObject({
    code: 'service_unavailable',
    retryAfterSeconds: 1,
  });
});
