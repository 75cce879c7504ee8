import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { Logger } from '@nestjs/common';
import type { ArchivedDay } from '../../../src/billing/ledger/archived-day';
import { AccountStatementRepository } from '../../../src/billing/payments/account-statement.repository';
import { LedgerArchiveRepository } from '../../../src/billing/ledger/ledger-archive.repository';
import { LedgerAuditRepository } from '../../../src/billing/ledger/ledger-audit.repository';
import { DayPartitions } from '../../../src/core/partitions/day-partitions';
import { toArchiveKey } from '../../../src/core/storage/object-key';
import { systemClock } from '../../../src/core/time/clock';
import { uuidV7 } from '../../../src/core/types/ids';
import { readDeploymentId } from '../../../src/core/redis/deployment-identity';
import { JobMoneyRepository } from '../../../src/media-jobs/job-money.repository';
import { NO_REPLICA, PATIENCE_MS } from '../../harness/database';
import { type ArchiveStage, dayBefore, PastBooks, readDayStates, RETENTION_DAYS } from './archive-stage';
import { submissionOf } from '../media-jobs/job-engine';
import { createAccount, reserveCommand, settleCommand } from './money-engine';

const DAY_MS = 86_400_000;

describe('archived days of the ledger', () => {
  let books: PastBooks;
  let stage: ArchiveStage;

  beforeAll(async () => {
    books = await PastBooks.open();
  });
  afterAll(() => books.close());
  beforeEach(async () => {
    stage = await books.openStage();
  });
  afterEach(() => stage.close());

  const balances = async () => {
    const { rows } = await stage.pool.query<{ organization_id: string; balance_micro: string }>(
      'SELECT organization_id, balance_micro FROM organization_account ORDER BY 1',
    );
    return rows;
  };
  const partitionNames = async () => (await stage.partitions.list('ended_reservation')).map(({ name }) => name);

  async function audit(): Promise<number> {
    await stage.pool.query('UPDATE ledger_audit SET next_due_at = clock_timestamp()');
    const run = await new LedgerAuditRepository(stage.engine.pool, NO_REPLICA, systemClock).runIfDue({
      timeoutMs: PATIENCE_MS,
      daysBudgetMs: PATIENCE_MS,
      pauseMs: () => 60_000,
      signal: new AbortController().signal,
    });
    if (run.outcome !== 'completed') throw new Error(run.outcome);
    return run.violations.length;
  }

  it('leave the database with their partitions, and the books and balances stay exact', async () => {
    const before = await readDayStates(stage.pool);
    const balancesBefore = await balances();
    expect(before.length).toBeGreaterThanOrEqual(4);
    expect(await stage.engine.ledger.verify()).toEqual([]);

    expect(await stage.process().archive()).toEqual(before.map(() => 'archived'));

    expect(await readDayStates(stage.pool)).toEqual(
      before.map(({ day }) => ({ day, is_exported: true, is_removed: true, requests: 0 })),
    );
    const oldest = (await dayBefore(stage.pool, RETENTION_DAYS)).replaceAll('-', '');
    expect((await partitionNames())[0]).toBe(`ended_reservation_${oldest}`);
    expect(await balances()).toEqual(balancesBefore);
    expect(await stage.engine.ledger.verify()).toEqual([]);
    expect(await audit()).toBe(0);
    expect(await stage.repository.keptFrom()).toBe(await dayBefore(stage.pool, RETENTION_DAYS));
    expect(await stage.process().archive()).toEqual([]);

    const account = await createAccount(stage.pool);
    const command = reserveCommand(account, 9n);
    await stage.engine.reservations.reserve(command);
    await stage.engine.reservations.finish(settleCommand(command, 7n, {}));
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  it('are objects with a line of JSON for each of their requests, in the order of their ids', async () => {
    const [{ day, requests } = { day: '', requests: 0 }] = await readDayStates(stage.pool);
    const { rows } = await stage.pool.query(
      `SELECT id, organization_id, key_id, state, amount_micro::integer, charged_micro::integer, uncollected_micro::integer,
              entry_id::integer, balance_after_micro::double precision, is_job
         FROM ended_reservation WHERE id BETWEEN first_id_of($1) AND last_id_of($1) ORDER BY id`,
      [day],
    );
    await stage.process().archive();
    const object = await books.bucket.read(toArchiveKey(await readDeploymentId(stage.dataSource), day));
    const lines = gunzipSync(object ?? Buffer.alloc(0))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(requests);
    expect(lines.map(({ created_at: _created, ended_at: _ended, ...columns }) => columns)).toEqual(rows);
    expect(lines[0].created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('stay while an earlier day has a hold or is open', async () => {
    const [, second] = await readDayStates(stage.pool);
    const account = await createAccount(stage.pool);
    const at = new Date(systemClock.now() - 100 * DAY_MS);
    const id = uuidV7(at.getTime());
    await stage.pool.query(
      `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], '{9}', '{9999999}', 'media_job', $4)`,
      [id, account.organizationId, account.keyId, at],
    );
    expect(await stage.process().archive()).toEqual([]);
    await stage.pool.query(`SELECT money_finish(ARRAY[$1::uuid], ARRAY[$2::uuid], '{settled}', '{7}', NULL, $3)`, [
      id,
      account.organizationId,
      at,
    ]);
    expect(await stage.process().archive()).toEqual([]);
    expect((await readDayStates(stage.pool)).some(({ is_exported: is }) => is)).toBe(false);
    await stage.closeDays();
    expect(await stage.process().archive()).toContain('archived');
    expect((await readDayStates(stage.pool)).find(({ day }) => day === second?.day)?.is_removed).toBe(true);
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  /** What an export of a closed day finds. */
  const contentOf = async (day: string) => ({
    sums: await stage.repository.readClosings(day),
    lastEntryId: 1,
    contentDigest: Buffer.alloc(32),
  });
  const complete = async (day: string, changes: Partial<ArchivedDay> = {}) => {
    await stage.repository.claim(day, 'a process');
    const content = { ...(await contentOf(day)), ...changes };
    return stage.repository.complete(day, 'a process', { key: 'k', sizeBytes: 1 }, content);
  };

  it('are recorded by the database only in order, once closed, and without a hold', async () => {
    const [first, second] = await readDayStates(stage.pool);
    await expect(complete(await dayBefore(stage.pool, 1))).rejects.toThrow('differs from its closing');
    await expect(complete(second?.day ?? '')).rejects.toThrow('are not archived');
    const sums = await stage.repository.readClosings(second?.day ?? '');
    await expect(complete(first?.day ?? '', { sums })).rejects.toThrow('differs from its closing');
    const account = await createAccount(stage.pool);
    const at = new Date(systemClock.now() - 100 * DAY_MS);
    await stage.pool.query(
      `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], '{9}', '{9999999}', 'media_job', $4)`,
      [uuidV7(at.getTime()), account.organizationId, account.keyId, at],
    );
    await expect(complete(first?.day ?? '')).rejects.toThrow('are not archived');
    expect(await stage.repository.keptFrom()).toBeNull();
  });

  it('are exported once by two processes at a time', async () => {
    const days = (await readDayStates(stage.pool)).length;
    const puts = jest.spyOn(books.bucket, 'put');
    const processes = await Promise.all([stage.process().archive(), stage.process().archive()]);
    // A process that finds the day of the other one leaves the rest to it.
    while ((await readDayStates(stage.pool)).some(({ is_removed: is }) => !is)) await stage.process().archive();
    expect(puts.mock.calls.length).toBe(days);
    puts.mockRestore();
    expect(new Set(processes.flat())).not.toContain('broken');
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  it('are free for other processes once a process could not write them, whatever it still reads', async () => {
    const repository = new LedgerArchiveRepository(stage.dataSource);
    const [reading, returned, renewed] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    jest.spyOn(repository, 'renew').mockImplementation(async (...claim) => {
      reading?.resolve();
      await returned?.promise;
      await stage.repository.renew(...claim).finally(() => renewed?.resolve());
    });
    jest.spyOn(repository, 'giveBack').mockImplementation(async (...claim) => {
      await stage.repository.giveBack(...claim);
      returned?.resolve();
    });
    const put = jest.spyOn(books.bucket, 'put').mockImplementation(async (_key, body) => {
      (body as Readable).resume();
      await reading?.promise;
      throw new Error('The disk is full.');
    });
    await expect(stage.process({ repository }).archive()).rejects.toThrow('The disk is full.');
    await renewed?.promise;
    put.mockRestore();
    expect(await stage.process().archive()).toContain('archived');
  });

  it('go with their partitions only: one that an operator has detached keeps rows that are not archived', async () => {
    const day = await dayBefore(stage.pool, 20);
    const name = `ended_reservation_${day.replaceAll('-', '')}`;
    await stage.pool.query(`ALTER TABLE ended_reservation DETACH PARTITION ${name}`);
    expect(await stage.process().archive()).toContain('archived');
    expect((await stage.pool.query(`SELECT FROM ${name}`)).rowCount).toBeGreaterThan(0);
    expect((await readDayStates(stage.pool)).every(({ is_removed: is }) => is)).toBe(true);
    const found = await stage.engine.ledger.verify();
    expect(found.map(({ subject }) => subject.slice(0, 10))).toContain(day);
  });

  it('are completed when their removal was interrupted', async () => {
    const day = await dayBefore(stage.pool, RETENTION_DAYS + 1);
    const name = `ended_reservation_${day.replaceAll('-', '')}`;
    const partitions = new DayPartitions(stage.dataSource);
    jest.spyOn(partitions, 'remove').mockResolvedValue(false);
    await stage.process({ partitions }).archive();
    const reader = await stage.pool.connect();
    await reader.query('BEGIN; SELECT FROM ended_reservation LIMIT 1');
    const detaching = await stage.pool.connect();
    await detaching.query(`SET statement_timeout = '100ms'`);
    await expect(
      detaching.query(`ALTER TABLE ended_reservation DETACH PARTITION ${name} CONCURRENTLY`),
    ).rejects.toMatchObject({ code: '57014' });
    await reader.query('COMMIT');
    [reader, detaching].forEach((client) => client.release(true));
    expect((await stage.partitions.list('ended_reservation')).map(({ state }) => state)).toContain('detaching');
    expect(await stage.engine.ledger.verify()).toEqual([]);
    await stage.process().archive();
    expect(await partitionNames()).not.toContain(name);
    expect((await readDayStates(stage.pool)).every(({ is_removed: is }) => is)).toBe(true);
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  it('stay without a retention, and without an object storage', async () => {
    expect(await stage.process({ retentionDays: 0 }).archive()).toEqual([]);
    expect(await stage.process({ storage: null }).archive()).toEqual([]);
  });

  it('take no holds or reservations any more, nor do days without requests before them', async () => {
    await stage.process().archive();
    const account = await createAccount(stage.pool);
    for (const days of [RETENTION_DAYS + 1, 500]) {
      const id = uuidV7(systemClock.now() - days * DAY_MS);
      const parameters = [id, account.organizationId, account.keyId];
      await expect(
        stage.pool.query(
          `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], '{9}', '{60}', 'late')`,
          parameters,
        ),
      ).rejects.toMatchObject({ code: '23514' });
      await expect(
        stage.pool.query(`SELECT money_void(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], 'late')`, parameters),
      ).rejects.toMatchObject({ code: '23514' });
    }
    expect(await stage.engine.ledger.verify()).toEqual([]);
  });

  it('get no request of a process whose clock is behind: 503, with the cause in the log', async () => {
    await stage.process().archive();
    const account = await createAccount(stage.pool);
    const late = () => uuidV7(systemClock.now() - (RETENTION_DAYS + 1) * DAY_MS);
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const { reservations } = stage.engine;
    const jobs = new JobMoneyRepository(stage.engine.pool, systemClock);
    // One batch: the request of today must be admitted.
    const outcomes = await Promise.allSettled([
      reservations.reserve(reserveCommand(account, 9n)),
      reservations.reserve(reserveCommand(account, 9n, late())),
      jobs.submit(submissionOf(account, { id: late() })),
    ]);
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'service_unavailable' }) };
    expect(outcomes).toEqual([{ status: 'fulfilled', value: undefined }, refused, refused]);
    const logged = expect.objectContaining({
      event: 'clock_behind_ledger',
      failure: expect.stringMatching(/^\d{4}-\d\d-\d\d is closed$/),
    });
    expect(error.mock.calls).toEqual([[logged], [logged]]);
    error.mockRestore();
  });

  it('leave the other entries in the ledger of an account, with their balances', async () => {
    const [{ organization_id: organizationId } = { organization_id: randomUUID() }] = await balances();
    const statement = new AccountStatementRepository(stage.dataSource);
    const read = async () => {
      const lines = [];
      const keptFrom = await statement.chargesKeptFrom();
      for await (const page of statement.readLedger(organizationId, {}, { pageSize: 200, keptFrom }))
        lines.push(...page);
      return lines;
    };
    const before = await read();
    await stage.process().archive();
    const keptFrom = new Date((await stage.repository.keptFrom()) ?? 0);
    const after = await read();
    expect(after.length).toBeLessThan(before.length);
    const id = (line: (typeof before)[number]) => line.requestId;
    const isKept = (line: (typeof before)[number]) =>
      line.kind !== 'charge' ||
      Number.parseInt(id(line)?.replaceAll('-', '').slice(0, 12) ?? '', 16) >= keptFrom.getTime();
    expect(after).toEqual(before.filter(isKept));
  });

  it('fail an export of the ledger during which they are archived', async () => {
    const [{ organization_id: organizationId } = { organization_id: randomUUID() }] = await balances();
    const statement = new AccountStatementRepository(stage.dataSource);
    const pages = statement.readLedger(organizationId, {}, { pageSize: 100, keptFrom: null });
    await pages.next();
    await stage.process().archive();
    const rest = async () => {
      for await (const page of pages) expect(page).toBeDefined();
    };
    await expect(rest()).rejects.toThrow('Charges were archived during the export.');
  });
});
