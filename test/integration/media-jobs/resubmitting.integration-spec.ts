import { Logger } from '@nestjs/common';
import { systemClock } from '../../../src/core/time/clock';
import type { JobAdapter } from '../../../src/providers/contract/media-job';
import type { Provider } from '../../../src/providers/contract/provider';
import { KeyCoolDowns } from '../../../src/providers/key-cool-downs';
import { KeyPool, type PooledKey } from '../../../src/providers/key-pool';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { makeTestVideo } from '../../harness/media-files';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { type JobEngine, startJobEngine, submit, targetAt } from './job-engine';
import { CAPABLE, failure, ScriptedProvider, WorkerStage } from './worker-stage';

describe('resubmitting a job', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;
  let video: Buffer;
  let stage: WorkerStage;
  let first: ScriptedProvider;
  let second: ScriptedProvider;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    video = await makeTestVideo({ seconds: 1 });
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool);
    begin();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await stage.close();
    await requireSoundBooks(engine.money);
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  function begin(options = {}): void {
    stage = new WorkerStage(engine, ['first', 'second'], { options });
    [first, second] = [new ScriptedProvider('first', video), new ScriptedProvider('second', video)];
    for (const provider of [first, second]) stage.adapters.set(provider.id, provider.adapter);
  }
  /** The accounts as the keys of one provider. */
  function poolOf(accounts: readonly ScriptedProvider[]): JobAdapter {
    const keys = accounts.map(({ id, adapter: video }): PooledKey => {
      const provider = { capabilities: {}, quirks: {}, video } as unknown as Provider;
      return { id, accountId: id, weight: 1, provider };
    });
    const pool = new KeyPool('first', keys as [PooledKey, ...PooledKey[]], new KeyCoolDowns(systemClock));
    return pool.video as JobAdapter;
  }
  const newJob = (route = ['first', 'second']) => submit(engine, account, { route });

  /** Refusals that say nothing about the earlier submission. */
  const REFUSALS = [
    ['no connection', failure('provider_unavailable', { phase: 'connect' })],
    ['too many requests', failure('provider_rate_limited', { upstream: { status: 429 } })],
    ['a credential that it refuses', failure('provider_error', { upstream: { status: 401 }, credentialRefused: true })],
  ] as const;

  it.each(REFUSALS)(
    'keeps the provider that may have accepted the job when a retry meets %s',
    async (_what, refusal) => {
      const job = await newJob();
      first.onSubmit = () => Promise.reject(failure('provider_timeout'));
      await stage.step(job);
      first.onSubmit = () => Promise.reject(refusal);
      for (let step = 0; step < 2; step++) {
        expect(await stage.step(job)).toMatchObject({ status: 'queued', submitStartedAt: expect.any(Date) });
      }
      first.onSubmit = (token) => Promise.resolve(first.handle(token));
      expect(await stage.work(job)).toMatchObject({ status: 'succeeded', provider: 'first', submissions: 1 });
      expect(first.submissions).toEqual(Array.from({ length: 4 }, () => `${job.id}-1`));
      expect(second.submissions).toEqual([]);
    },
  );

  it.each(REFUSALS)(
    'fails as unknown without trying another provider when retries meet %s for too long',
    async (_what, refusal) => {
      await stage.close();
      begin({ maxWaitMs: 0 });
      const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
      const job = await newJob();
      const claimed = await engine.work.claim(job, 'the dead');
      await engine.work.beginSubmission({ ...job, fence: claimed?.fence ?? 0 }, targetAt('first'));
      await stage.loseWorker(job);
      first.onSubmit = () => Promise.reject(refusal);
      expect(await stage.step(job)).toMatchObject({ status: 'queued', setbacks: 1 });
      expect(await stage.step(job)).toMatchObject({
        status: 'failed',
        error: { code: 'provider_error', message: expect.stringContaining('It is unknown') },
        costMicro: 0n,
      });
      expect([first.submissions, second.submissions]).toEqual([[`${job.id}-1`, `${job.id}-1`], []]);
      expect(errors).toHaveBeenCalledWith(expect.objectContaining({ event: 'provider_submit_unknown' }));
    },
  );

  it.each([
    [2, ['failed', 1]],
    [1, ['succeeded', 3]],
  ])(
    'repeats a submission at a provider that deduplicates only for one account: with %d API keys the job has %j',
    async (count, expected) => {
      const accounts = [first, second].slice(0, count);
      stage.adapters.set('first', poolOf(accounts));
      for (const account of accounts) account.onSubmit = () => Promise.reject(failure('provider_timeout'));
      const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
      const job = await newJob(['first']);
      await stage.step(job);
      await stage.step(job);
      for (const account of accounts) account.onSubmit = (token) => Promise.resolve(account.handle(token));
      const { status, error } = await stage.work(job);
      expect([status, [...first.submissions, ...second.submissions].length]).toEqual(expected);
      expect(error?.message.includes('It is unknown') ?? false).toBe(count > 1);
      expect(errors).toHaveBeenCalledTimes(count > 1 ? 1 : 0);
    },
  );

  it.each([
    ['one of two keys', () => [first, second]],
    ['the key', () => [first]],
  ])(
    'does not repeat a submission whose outcome is lost when %s is replaced by another account',
    async (_what, before) => {
      const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
      stage.adapters.set('first', poolOf(before()));
      const job = await newJob(['first']);
      const account = stage.adapters.get('first')?.capabilities.submissionAccount;
      const claimed = await engine.work.claim(job, 'the dead');
      await engine.work.beginSubmission({ ...job, fence: claimed?.fence ?? 0 }, { ...targetAt('first'), account });
      await stage.loseWorker(job);
      stage.adapters.set('first', poolOf([second]));
      expect(await stage.step(job)).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining('It is unknown') },
        costMicro: 0n,
      });
      expect([first.submissions, second.submissions]).toEqual([[], []]);
      expect(errors).toHaveBeenCalledWith(expect.objectContaining({ event: 'provider_submit_unknown' }));
    },
  );

  it.each([true, false])(
    'cancels and fails when the database rejects the handle, with provider deduplication: %s',
    async (idempotentSubmit) => {
      first.capabilities = { ...CAPABLE, idempotentSubmit };
      stage.adapters.set('first', first.adapter);
      const id = 'x'.repeat(5_000);
      first.onSubmit = (token) => Promise.resolve({ ...first.handle(token), id });
      const job = await newJob();
      expect(await stage.step(job)).toMatchObject({
        status: 'failed',
        error: { code: 'provider_error', message: expect.stringContaining('cannot be stored') },
        costMicro: 0n,
      });
      expect([first.submissions.length, first.canceled, second.submissions]).toEqual([1, [id], []]);
    },
  );

  it('abandons the provider call when the database fails before the submission', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    jest.spyOn(engine.work, 'beginSubmission').mockRejectedValueOnce(new Error('the database is unavailable'));
    const job = await newJob();
    expect(await stage.step(job)).toMatchObject({ status: 'queued', submitStartedAt: null });
    expect([stage.flights, errors.mock.calls.length]).toEqual([0, 1]);
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded', submissions: 1 });
    expect(stage.flights).toBe(0);
  });

  it('pauses when the rest of the route is no longer offered', async () => {
    first.onSubmit = () => Promise.reject(failure('provider_rate_limited', { upstream: { status: 429 } }));
    const job = await newJob(['first', 'gone']);
    for (let step = 0; step < 6; step++) await stage.step(job);
    const pauses = stage.scheduled.map(({ inMs }) => inMs);
    expect(pauses.filter((pauseMs) => pauseMs >= 900)).toHaveLength(3);
  });
});
