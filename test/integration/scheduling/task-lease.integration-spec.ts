import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { LeaseLostError, type TaskLease, withTaskLease } from '../../../src/core/scheduling/task-lease';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';

describe('the lease of a task', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createTestPool(database.url, 8);
  });
  beforeEach(() => pool.query(`UPDATE task_lease SET owner = '', until = '-infinity'`));
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const run = <Result>(work: (lease: TaskLease) => Promise<Result>) => withTaskLease(pool, 'ledger_audit', work);
  const leaseOf = async (name = 'ledger_audit') => {
    const { rows } = await pool.query<{ owner: string; is_held: boolean; until: Date }>(
      'SELECT owner, until > clock_timestamp() AS is_held, until FROM task_lease WHERE name = $1',
      [name],
    );
    return rows[0] ?? { owner: '', is_held: false, until: new Date(0) };
  };
  const lapse = () => pool.query(`UPDATE task_lease SET until = clock_timestamp() WHERE name = 'ledger_audit'`);
  const isHeld = (lease: TaskLease) => inSandbox(pool, (client) => lease.requireHeld(client));

  it('is held by one process at a time, and returned at the end, also of work that fails', async () => {
    const outcomes = await run(async () => [await run(async () => 'second'), await leaseOf()]);
    expect(outcomes).toEqual([
      null,
      expect.objectContaining({ is_held: true, owner: expect.stringContaining(`${process.pid}`) }),
    ]);
    await expect(run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await run(async () => 'next')).toBe('next');
  });

  it('is taken by one of many at once', async () => {
    const counts = { held: 0, refused: 0 };
    const allAnswered = Promise.withResolvers<void>();
    const count = (answer: keyof typeof counts) => {
      counts[answer]++;
      if (counts.held + counts.refused === 8) allAnswered.resolve();
    };
    const attempt = async () => {
      const outcome = await run(async () => {
        count('held');
        await allAnswered.promise;
        return true;
      });
      if (outcome === null) count('refused');
    };
    await Promise.all(Array.from({ length: 8 }, attempt));
    expect(counts).toEqual({ held: 1, refused: 7 });
  });

  it('passes to the next process once that of a dead one has lapsed, which then writes nothing', async () => {
    await run(async (dead) => {
      await lapse();
      await expect(isHeld(dead)).rejects.toThrow(LeaseLostError);
      await run(async (next) => {
        await expect(isHeld(dead)).rejects.toThrow(LeaseLostError);
        await isHeld(next);
      });
    });
  });

  it('is not returned by a process that has lost it', async () => {
    const other = Promise.withResolvers<void>();
    const held = await run(async () => {
      await lapse();
      const taken = Promise.withResolvers<void>();
      const next = run(() => (taken.resolve(), other.promise));
      await taken.promise;
      return { next };
    });
    expect(await leaseOf()).toMatchObject({ is_held: true });
    other.resolve();
    await held?.next;
  });

  it('is renewed while the work runs, and aborts the work when it was lost', async () => {
    const timers = jest.spyOn(globalThis, 'setInterval');
    await run(async (lease) => {
      const renew = timers.mock.calls.find(([, delayMs]) => delayMs === 20_000)?.[0] as () => void;
      timers.mockRestore();
      const { until } = await leaseOf();
      renew();
      while ((await leaseOf()).until.getTime() === until.getTime())
        await new Promise((resolve) => setTimeout(resolve, 5));
      expect(lease.signal.aborted).toBe(false);
      await lapse();
      renew();
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    });
  });

  it('is not taken while its holder writes an outcome', async () => {
    await run((lease) =>
      inSandbox(pool, async (client) => {
        await lease.requireHeld(client);
        await expect(pool.query('SELECT FROM task_lease FOR UPDATE NOWAIT')).rejects.toMatchObject({ code: '55P03' });
      }),
    );
  });

  const DEAD_INSTANCE = `INSERT INTO gateway_instance (id, heartbeat_at) VALUES ('dead', now() - interval '1 hour')`;
  const EXPIRED_RECORD = `
    INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id, at_most_once, created_at, state,
                                    status, headers, charged_micro, body_stored, completed_at, expires_at)
    SELECT id, 'createChatCompletion', 'k', sha256('x'), id, false, t, 'completed', 200, '{}', 0, false, t, t
      FROM gen_random_uuid() id, (SELECT now() - interval '1 day') time (t)`;

  it.each([
    ['money_sweep', 'SELECT money_sweep($1, 1)', DEAD_INSTANCE, `SELECT FROM gateway_instance WHERE id = 'dead'`],
    ['idempotency_sweep', 'SELECT idempotency_sweep(1, $1)', EXPIRED_RECORD, 'SELECT FROM idempotency_record'],
  ])('admits one %s at a time', async (task, sweep, plant, find) => {
    const owner = randomUUID();
    await pool.query(`INSERT INTO gateway_instance (id, steady_since) VALUES ($1, now() - interval '1 hour')`, [owner]);
    await pool.query(plant);
    await inSandbox(pool, async (client) => {
      await client.query(`SELECT task_lease_take($1, 'another process', 0)`, [task]);
      await pool.query(sweep, [owner]);
    });
    expect((await pool.query(find)).rowCount).toBe(1);
    await pool.query(sweep, [owner]);
    expect((await pool.query(find)).rowCount).toBe(0);
    expect(await leaseOf(task)).toMatchObject({ owner, is_held: false });
  });
});
