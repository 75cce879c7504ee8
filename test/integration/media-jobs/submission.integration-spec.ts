import type { GatewayError } from '../../../src/core/errors/gateway-error';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import {
  deploymentOf,
  finish,
  type JobEngine,
  requireJob,
  startJobEngine,
  submissionOf,
  type SubmissionOptions,
} from './job-engine';

const WAITING = `
  SELECT count(*)::integer AS waiting FROM pg_stat_activity
   WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%media_job_submit%'`;

describe('submitting a job', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let other: JobEngine;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    [engine, other] = await Promise.all([startJobEngine(database.url), startJobEngine(database.url)]);
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool, { balanceMicro: 10_000n });
  });
  afterEach(() => requireSoundBooks(engine.money));
  afterAll(async () => {
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  const submit = (options: SubmissionOptions = {}, by = engine) => by.endings.submit(submissionOf(account, options));
  const reserved = async () => (await engine.money.ledger.balance(account.organizationId)).reservedMicro;
  const count = async (table: string): Promise<number> => {
    const [row] = await engine.dataSource.query<{ rows: number }[]>(
      `SELECT count(*)::integer AS rows FROM ${table} WHERE organization_id = $1`,
      [account.organizationId],
    );
    return row?.rows ?? 0;
  };
  const endTheDay = () =>
    engine.dataSource.query(
      `UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE organization_id = $1`,
      [account.organizationId],
    );
  const traces = async () => ({
    jobs: await count('media_job'),
    holds: await count('reservation'),
    records: await count('idempotency_record'),
    bodies: await count('idempotency_body'),
  });

  /** Locks the account, runs `work`, and unlocks when both processes wait for it, each with one connection. */
  async function meeting<Result>(work: () => Promise<Result>): Promise<Result> {
    const { working } = await engine.dataSource.transaction(async (manager) => {
      await manager.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
        account.organizationId,
      ]);
      const started = work();
      for (let waiting = 0; waiting < 2;) {
        // On another connection: a transaction keeps one snapshot.
        const [row] = await engine.dataSource.query<{ waiting: number }[]>(WAITING);
        waiting = row?.waiting ?? 0;
      }
      return { working: started };
    });
    return working;
  }

  it('returns a response that matches the document and the stored job', async () => {
    const submission = submissionOf(account, { webhookUrl: 'https://example.com/hook', metadata: { order: '7' } });
    const answer = await engine.endings.submit(submission);
    const job = await requireJob(engine, submission.id, account);
    expect(JSON.parse(answer.body.toString())).toEqual({
      id: submission.id,
      object: 'video.generation',
      status: 'queued',
      model: 'mock/video-1',
      created_at: job.createdAt.toISOString(),
      estimated_cost_micro: 1_500,
    });
    expect(answer).toMatchObject({
      isReplayed: false,
      status: 202,
      headers: {
        'x-llm-model': 'mock/video-1',
        'x-llm-cost-micro': '1500',
        'content-type': expect.stringMatching(/json/),
      },
    });
    expect(job).toMatchObject({
      status: 'queued',
      progress: null,
      estimatedCostMicro: 1_500n,
      maxCostMicro: 1_500n,
      costMicro: 0n,
      error: null,
      params: submission.params,
      settings: submission.settings,
      route: [deploymentOf('mock')],
      webhookUrl: 'https://example.com/hook',
      metadata: { order: '7' },
      startedAt: null,
      completedAt: null,
    });
    expect(job.expiresAt.getTime() - job.createdAt.getTime()).toBe(86_400_000);
    expect(await reserved()).toBe(1_500n);
  });

  it('creates one job for 200 duplicates in two processes and returns the same response to all', async () => {
    const answers = await meeting(() =>
      Promise.all(
        Array.from({ length: 200 }, (_, index) => submit({ key: 'twins' }, index % 2 === 0 ? engine : other)),
      ),
    );
    expect(answers.filter(({ isReplayed }) => !isReplayed)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.toString())).size).toBe(1);
    expect(new Set(answers.map(({ headers }) => JSON.stringify(headers))).size).toBe(1);
    expect(await traces()).toEqual({ jobs: 1, holds: 1, records: 1, bodies: 1 });
    expect(await reserved()).toBe(1_500n);
  });

  it('accepts one of two bodies under one key and refuses the other without retry_after', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        submit({ key: 'key', body: `body ${index % 2}` }, index % 4 < 2 ? engine : other),
      ),
    );
    const refused = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as GatewayError] : [],
    );
    expect(refused).toHaveLength(100);
    expect(refused.every((error) => error.code === 'idempotency_conflict' && !error.shouldRetry)).toBe(true);
    expect(await traces()).toEqual({ jobs: 1, holds: 1, records: 1, bodies: 1 });
  });

  it.each([1, 13, 40, 59])(
    'accepts exactly %i of 60 concurrent submissions when the balance covers that many',
    async (affordable) => {
      account = await createAccount(engine.money.pool, { balanceMicro: BigInt(affordable) * 1_500n + 1_499n });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) => submit({}, index % 2 === 0 ? engine : other)),
      );
      const refused = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [(outcome.reason as GatewayError).code] : [],
      );
      expect(refused).toEqual(Array.from({ length: 60 - affordable }, () => 'insufficient_credits'));
      expect(await traces()).toEqual({ jobs: affordable, holds: affordable, records: affordable, bodies: affordable });
    },
  );

  it('checks budget, organization limit and balance in this order and stores nothing on refusal', async () => {
    account = await createAccount(engine.money.pool, {
      dailyBudgetMicro: 30n,
      monthlyBudgetMicro: 20n,
      monthlyLimitMicro: 10n,
      balanceMicro: 5n,
    });
    const refusals: string[] = [];
    for (const holdMicro of [31n, 21n, 11n, 6n]) {
      await submit({ holdMicro, key: 'same' }).catch(({ code }: GatewayError) => refusals.push(code));
    }
    expect(refusals).toEqual(['budget_exceeded', 'budget_exceeded', 'spending_limit_exceeded', 'insufficient_credits']);
    expect(await traces()).toEqual({ jobs: 0, holds: 0, records: 0, bodies: 0 });
    expect(await submit({ holdMicro: 5n, key: 'same' })).toMatchObject({ isReplayed: false });
  });

  it('for a locked account blocks no other organization and no request holds', async () => {
    const free = await createAccount(engine.money.pool, { balanceMicro: 10_000n });
    let blocked: Promise<unknown> = Promise.resolve();
    await other.dataSource.transaction(async (manager) => {
      await manager.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
        account.organizationId,
      ]);
      let isRefused = false;
      const refuse = () => (isRefused = true);
      blocked = Promise.all(Array.from({ length: 20 }, () => submit({ holdMicro: 1n }).catch(refuse)));
      await expect(engine.endings.submit(submissionOf(free))).resolves.toMatchObject({ isReplayed: false });
      await engine.money.lease.renew();
      // A submission that waits for the lock is refused after a second; queued ones would each wait another second.
      expect(isRefused).toBe(false);
    });
    await blocked;
  });

  it('can be retried after a lost response', async () => {
    const submission = submissionOf(account);
    const first = await engine.endings.submit(submission);
    expect(await other.endings.submit(submission)).toEqual(first);
    expect(await reserved()).toBe(1_500n);
  });

  it('keeps its stored response after the job was deleted', async () => {
    const submission = submissionOf(account, { key: 'kept' });
    const first = await engine.endings.submit(submission);
    const job = await requireJob(engine, submission.id, account);
    await finish(engine, job, { status: 'canceled' });
    expect(await engine.jobs.remove(job)).toBe(false);
    await engine.jobs.markDeleted(job.id, account.organizationId);
    expect(await engine.jobs.remove(job)).toBe(true);
    expect(await submit({ key: 'kept' })).toEqual({ ...first, isReplayed: true });
    expect(await count('media_job')).toBe(0);
  });

  it('allows the key again after a day', async () => {
    await submit({ key: 'daily' });
    await endTheDay();
    expect(await submit({ key: 'daily' })).toMatchObject({ isReplayed: false });
    expect(await count('media_job')).toBe(2);
  });

  it.each([60, 86_400, 604_800])('keeps its key for a day and longer than the job TTL: %i s', async (ttlSeconds) => {
    await submit({ ttlSeconds });
    const [kept] = await engine.dataSource.query<object[]>(
      `SELECT d.expires_at > j.expires_at AS beyond_the_job, d.expires_at >= d.created_at + interval '1 day' AS for_a_day
           FROM media_job j JOIN idempotency_record d ON d.reservation_id = j.id WHERE j.organization_id = $1`,
      [account.organizationId],
    );
    expect(kept).toEqual({ beyond_the_job: true, for_a_day: true });
  });

  it('counts its stored bytes, so that the sweep can subtract them', async () => {
    const answers = [await submit({ key: 'one' }), await submit({ key: 'two' })];
    const bytes = answers.reduce((sum, { body }) => sum + body.length, 0);
    await endTheDay();
    const stored = async () =>
      engine.dataSource.query<object[]>('SELECT stored_bytes FROM idempotency_storage WHERE organization_id = $1', [
        account.organizationId,
      ]);
    expect(await stored()).toEqual([{ stored_bytes: String(bytes) }]);
    await engine.dataSource.query('SELECT idempotency_sweep(1000)');
    expect(await stored()).toEqual([{ stored_bytes: '0' }]);
    expect(await count('idempotency_body')).toBe(0);
  });

  it('returns client text unchanged for all characters', async () => {
    const params = { zebra: 1, prompt: 'NUL \u0000, half a pair \ud800, 😀', aspect_ratio: '16:9' };
    const submission = submissionOf(account, { params, metadata: { 'a\u0000b': '\udc00' } });
    await engine.endings.submit(submission);
    const job = await requireJob(engine, submission.id, account);
    expect(JSON.stringify(job.params)).toBe(JSON.stringify(params));
    expect(job.metadata).toEqual({ 'a\u0000b': '\udc00' });
  });

  it('is visible only to its organization and under its kind', async () => {
    const submission = submissionOf(account);
    await engine.endings.submit(submission);
    const elsewhere = await createAccount(engine.money.pool);
    expect(await engine.jobs.find(submission.id, elsewhere.organizationId, null)).toBeNull();
    expect(await engine.jobs.find(submission.id, account.organizationId, 'music')).toBeNull();
    expect(await engine.jobs.find(submission.id, account.organizationId, 'video')).not.toBeNull();
  });
});
