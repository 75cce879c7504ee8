import { PassThrough, Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { JobEnding, MediaJob } from '../../../src/media-jobs/media-job.types';
import { RequestLogRepository } from '../../../src/billing/usage/request-log.repository';
import type { Price } from '../../../src/models/catalog-model';
import { REPLY_TOO_LONG } from '../../../src/providers/contract/provider-error';
import { NO_USAGE, type UsageVector } from '../../../src/providers/contract/usage';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { makeTestVideo } from '../../harness/media-files';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { finish, type JobEngine, letPass, requireJob, startJobEngine, submit } from './job-engine';
import {
  CAPABLE,
  deleteCanceled,
  failure,
  PRICE,
  RUNNING,
  ScriptedProvider,
  storedKeys,
  type StageSettings,
  SUCCESS,
  WorkerStage,
} from './worker-stage';

describe('polling a submitted job', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;
  let video: Buffer;
  let stage: WorkerStage;
  let provider: ScriptedProvider;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    video = await makeTestVideo({ audio: true });
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool);
    await begin();
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

  async function begin(settings: StageSettings = {}): Promise<void> {
    await stage?.close();
    stage = new WorkerStage(engine, ['first'], settings);
    provider = new ScriptedProvider('first', video);
    stage.adapters.set('first', provider.adapter);
  }
  const newJob = () => submit(engine, account, { route: ['first'], webhookUrl: 'https://example.com/hook' });
  const submitted = async () => stage.step(await newJob());
  const lastPause = () => stage.scheduled.at(-1)?.inMs ?? 0;
  const artifactsOf = (job: MediaJob) => engine.jobs.findArtifacts(job);
  const chargeOf = async ({ id }: MediaJob) =>
    engine.dataSource.query<object[]>(
      `SELECT (SELECT count(*)::int FROM ledger_entry WHERE reservation_id = $1 AND kind = 'charge') AS charges,
              (SELECT count(*)::int FROM webhook_delivery WHERE job_id = $1) AS events`,
      [id],
    );

  it('fetches the result with the key that knows the job, when its own was removed', async () => {
    provider.onSubmit = (token) => Promise.resolve({ ...provider.handle(token), keyId: 'removed' });
    provider.onPoll = () => Promise.resolve({ ...SUCCESS, keyId: 'other' } as typeof SUCCESS);
    expect(await stage.work(await submitted())).toMatchObject({ status: 'succeeded' });
    expect(provider.openedWith).toBe('other');
  });

  it('polls at growing intervals and shows status and progress', async () => {
    const job = await submitted();
    provider.onPoll = () => Promise.resolve({ state: 'queued', progress: null });
    expect(await stage.step(job)).toMatchObject({ status: 'submitted', progress: null });
    expect(Math.abs(lastPause() - 2_000)).toBeLessThanOrEqual(200);
    provider.onPoll = () => Promise.resolve(RUNNING);
    expect(await stage.step(job)).toMatchObject({ status: 'running', progress: 40 });
    expect(Math.abs(lastPause() - 3_000)).toBeLessThanOrEqual(300);
    for (let poll = 0; poll < 7; poll++) await stage.step(job);
    expect(Math.abs(lastPause() - 30_000)).toBeLessThanOrEqual(3_000);
    provider.onPoll = () => Promise.resolve({ ...RUNNING, retryAfterMs: 12_345 } as typeof RUNNING);
    await stage.step(job);
    expect(lastPause()).toBe(12_345);
    provider.onPoll = () => Promise.resolve(SUCCESS);
    expect(await stage.step(job)).toMatchObject({ status: 'succeeded', progress: 100 });
  });

  it('stores the file with its metadata and charges the delivered seconds up to the requested duration', async () => {
    const job = await stage.work(await newJob());
    expect(job).toMatchObject({ status: 'succeeded', costMicro: 400n });
    expect(await artifactsOf(job)).toEqual([
      {
        id: expect.any(String),
        keptUntil: expect.any(Date),
        type: 'video',
        contentType: 'video/mp4',
        sizeBytes: video.length,
        width: 480,
        height: 480,
        durationSeconds: expect.closeTo(2, 1),
        storageKey: `video/${account.organizationId}/${job.id}/0.mp4`,
      },
    ]);
    expect(await chargeOf(job)).toEqual([{ charges: 1, events: 1 }]);
  });

  it('charges what the provider bills, at most the hold', async () => {
    for (const [seconds, cost] of [
      [3, 600n],
      [1_000, 1_500n],
      [Number.NaN, 400n],
    ] as const) {
      provider.onPoll = () => Promise.resolve({ ...SUCCESS, usage: { ...NO_USAGE, seconds } } as typeof SUCCESS);
      expect(await stage.work(await newJob())).toMatchObject({ status: 'succeeded', costMicro: cost });
    }
  });

  it("charges the vendor's own units where the price does, at most the hold, and records the bill", async () => {
    await begin({ price: { ...PRICE, unit: { per_unit_micro: 400 } } });
    for (const [units, cost] of [
      [1.25, 500n],
      [1_000, 1_500n],
      [undefined, 400n],
    ] as const) {
      const usage = { ...NO_USAGE, ...(units !== undefined && { units }) };
      provider.onPoll = () => Promise.resolve({ ...SUCCESS, usage } as typeof SUCCESS);
      const job = await stage.work(await newJob());
      expect(job).toMatchObject({ status: 'succeeded', costMicro: cost });
      const request = await new RequestLogRepository(engine.dataSource, engine.dataSource).find(
        account.organizationId,
        job.id,
      );
      expect([request?.chargedMicro, request?.usage.units]).toEqual([cost, units]);
    }
  });

  it.each<[string, Price, Partial<UsageVector>, boolean]>([
    ['units 4 % above the estimate', { ...PRICE, unit: { per_unit_micro: 400 } }, { units: 2.6 }, false],
    ['units 10 % above the estimate', { ...PRICE, unit: { per_unit_micro: 400 } }, { units: 2.75 }, true],
    [
      'a charge of its own below the estimate',
      { ...PRICE, vendor_cost: { per_usd_micro: 1_000_000 } },
      { vendorCostMicro: 900 },
      true,
    ],
    ['seconds as requested', PRICE, { seconds: 5.04 }, false],
    ['seconds beyond the requested ones', PRICE, { seconds: 6 }, true],
    ['fewer seconds than requested', PRICE, { seconds: 4 }, true],
    ['nothing', PRICE, {}, false],
  ])(
    'logs a difference of over 5 %% between the estimate and the bill: %s',
    async (_what, price, reported, isLogged) => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
      await begin({ price });
      provider.onPoll = () => Promise.resolve({ ...SUCCESS, usage: { ...NO_USAGE, ...reported } } as typeof SUCCESS);
      const job = await stage.work(await newJob());
      const note = expect.objectContaining({
        event: 'vendor_bill_differs',
        job_id: job.id,
        billed_micro: Number(job.costMicro),
        estimated_micro: 1_000,
      });
      expect(warn.mock.calls.map(([facts]) => facts as object)).toEqual(isLogged ? [note] : []);
      warn.mockRestore();
    },
  );

  it.each(['failed', 'canceled', 'expired'] as const)('fails when the provider reports %s', async (state) => {
    const error = failure('provider_error', { phase: 'job', cause: new Error('sk-secret of the provider') });
    provider.onPoll = () => Promise.resolve({ state, error });
    const job = await stage.work(await newJob());
    const reported = { code: 'provider_error', message: 'In words of our own.' };
    expect(job).toMatchObject({ status: 'failed', error: reported, costMicro: 0n });
    expect(await chargeOf(job)).toEqual([{ charges: 0, events: 1 }]);
  });

  it('survives any number of failed polls and is charged once (F-43)', async () => {
    await begin({ options: { pollTimeoutMs: 10 } });
    const job = await submitted();
    const hang = () => new Promise<never>(() => undefined);
    const silences = [
      hang,
      () => Promise.reject(failure('provider_timeout')),
      () => Promise.reject(failure('provider_unavailable', { upstream: { status: 503 } })),
      () => Promise.reject(failure('provider_disconnect')),
      () => Promise.reject(failure('provider_error', { upstream: { status: 401 }, credentialRefused: true })),
      () => Promise.reject(new TypeError('a bug of the adapter')),
    ];
    for (const silence of [...silences, ...silences.slice(1)]) {
      provider.onPoll = silence;
      await letPass(engine, job.id, 300);
      const before = await requireJob(engine, job.id, job);
      const after = await stage.step(job);
      expect(after).toEqual({
        ...before,
        nextRunAt: expect.any(Date),
        fence: before.fence + 1,
        version: before.version + 2,
        polls: before.polls + 1,
      });
    }
    provider.onPoll = () => Promise.resolve(SUCCESS);
    const ended = await stage.step(job);
    expect(ended).toMatchObject({ status: 'succeeded', costMicro: 400n });
    expect(await chargeOf(ended)).toEqual([{ charges: 1, events: 1 }]);
  });

  it('fails after the provider returned 404 three times in two minutes, not before', async () => {
    const gone = () => Promise.reject(failure('provider_error', { upstream: { status: 404 } }));
    const job = await submitted();
    provider.onPoll = gone;
    for (let poll = 0; poll < 5; poll++) expect(await stage.step(job)).toMatchObject({ status: 'submitted' });
    provider.onPoll = () => Promise.resolve(RUNNING);
    expect(await stage.step(job)).toMatchObject({ status: 'running', setbacks: 0, setbackSince: null });
    provider.onPoll = gone;
    expect(await stage.step(job)).toMatchObject({ status: 'running', setbacks: 1 });
    await letSetbackPass(job);
    expect(await stage.step(job)).toMatchObject({ status: 'running', setbacks: 2 });
    expect(await stage.step(job)).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
  });

  it('fails without a charge when the report with the result stays longer than the gateway reads', async () => {
    provider.onPoll = () => Promise.reject(failure('provider_error', { upstream: { code: REPLY_TOO_LONG } }));
    const job = await submitted();
    await stage.step(job);
    await letSetbackPass(job);
    expect(await stage.step(job)).toMatchObject({ status: 'submitted', setbacks: 2 });
    const message = "The provider's result exceeds the gateway's size limit.";
    expect(await stage.step(job)).toMatchObject({ status: 'failed', error: { message }, costMicro: 0n });
  });

  it('deletes a result that is stored after its job was canceled and deleted', async () => {
    jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const file = new PassThrough();
    const opened = Promise.withResolvers<void>();
    provider.onOpen = () => (opened.resolve(), Promise.resolve(file));
    const job = await submitted();
    const step = stage.begin(await requireJob(engine, job.id, job));
    await opened.promise;
    await letPass(engine, job.id, 61);
    await deleteCanceled(engine, stage.removal, job);
    file.end(video);
    await step;
    expect(await storedKeys(engine, job)).toEqual([]);
  });

  it('fails without a charge when the provider no longer has the result, and tells the operator once', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    provider.onOpen = () => Promise.reject(failure('provider_error', { upstream: { status: 410 } }));
    const job = await submitted();
    await stage.step(job);
    await letSetbackPass(job);
    await stage.step(job);
    const ended = await stage.step(job);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'provider_error' }, costMicro: 0n });
    expect(await chargeOf(ended)).toEqual([{ charges: 0, events: 1 }]);
    expect(errors.mock.calls.map(([facts]) => facts as object)).toEqual([
      expect.objectContaining({
        event: 'job_result_lost',
        job_id: job.id,
        provider: 'first',
        provider_job_id: expect.any(String),
      }),
    ]);
  });

  it.each<[string, () => Promise<Readable>]>([
    ['refuses connections', () => Promise.reject(failure('provider_unavailable', { phase: 'connect' }))],
    ['answers 503', () => Promise.reject(failure('provider_unavailable', { upstream: { status: 503 } }))],
    ['answers 429', () => Promise.reject(failure('provider_rate_limited', { upstream: { status: 429 } }))],
    ['breaks off', () => Promise.resolve(Readable.from(brokenOff()))],
  ])(
    'fetches the result with growing pauses while its host %s, for as long as the provider keeps it, and logs it once',
    async (_what, open) => {
      const warn = jest.spyOn(Logger.prototype, 'warn');
      provider.onOpen = open;
      const job = await submitted();
      expect(await stage.step(job)).toMatchObject({ status: 'running', setbacks: 0 });
      expect(lastPause()).toBe(5_000);
      await letPass(engine, job.id, 60);
      expect(await stage.step(job)).toMatchObject({ status: 'running', setbacks: 0 });
      expect(Math.round(lastPause() / 5_000)).toBe(6);
      await letPass(engine, job.id, CAPABLE.outputTtlSeconds);
      expect(await stage.step(job)).toMatchObject({ status: 'running', setbacks: 1 });
      const failures = warn.mock.calls.filter(([line]) => line.event === 'job_result_unavailable');
      expect(failures).toEqual([[expect.objectContaining({ job_id: job.id, fault: 'unreachable' })]]);
    },
  );

  /** Moves the first setback two minutes into the past. */
  async function letSetbackPass({ id }: MediaJob): Promise<void> {
    const statement = `UPDATE media_job SET setback_since = setback_since - interval '2 minutes' WHERE id = $1`;
    await engine.dataSource.query(statement, [id]);
  }

  it('completes when object storage recovers, is charged once, and logs one of its failures (F-44)', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const job = await submitted();
    stage.storage.failures = 3;
    for (let failed = 0; failed < 3; failed++) {
      expect(await stage.step(job)).toMatchObject({ status: 'running', finalizingAt: expect.any(Date) });
      expect(lastPause()).toBe(5_000);
    }
    const ended = await stage.step(job);
    expect(ended).toMatchObject({ status: 'succeeded', costMicro: 400n });
    expect(await artifactsOf(ended)).toHaveLength(1);
    expect(await chargeOf(ended)).toEqual([{ charges: 1, events: 1 }]);
    expect(stage.storage.puts).toBe(4);
    const failures = warn.mock.calls.filter(([line]) => line.event === 'job_result_store_failed');
    expect(failures).toEqual([[expect.objectContaining({ job_id: job.id })]]);
  });

  it.each<[string, () => Promise<Readable>]>([
    ['is missing', () => Promise.reject(failure('provider_error', { upstream: { status: 404 } }))],
    ['is a web page', () => Promise.resolve(Readable.from([Buffer.from('<!doctype html>')]))],
    ['is empty', () => Promise.resolve(Readable.from([]))],
    ['is half a video', () => Promise.resolve(Readable.from([video.subarray(0, 200)]))],
  ])('fails free of charge when its file keeps failing: %s', async (_what, open) => {
    const job = await submitted();
    provider.onOpen = open;
    for (let step = 0; step < 3; step++) expect(await stage.step(job)).toMatchObject({ status: 'running' });
    await letSetbackPass(job);
    const ended = await stage.step(job);
    expect(ended).toMatchObject({ status: 'failed', costMicro: 0n, error: { code: 'provider_error' } });
    expect(await artifactsOf(ended)).toEqual([]);
  });

  async function* brokenOff(): AsyncGenerator<Buffer> {
    yield video.subarray(0, 100);
    throw failure('provider_disconnect', { phase: 'stream' });
  }

  it('fails at once when the file exceeds the size limit, and stops reading', async () => {
    await begin({ maxArtifactBytes: 100_000 });
    let sent = 0;
    const endless = function* () {
      for (;;) yield (sent++, Buffer.alloc(10_000));
    };
    provider.onOpen = () => Promise.resolve(Readable.from(endless(), { objectMode: false, highWaterMark: 10_000 }));
    const job = await stage.work(await newJob());
    expect(job).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('exceeds') } });
    expect(sent).toBeLessThan(20);
  });

  it.each<[JobEnding]>([[{ status: 'canceled' }], [{ status: 'expired' }]])(
    'neither charges nor fetches the result of a job that has already ended: %j',
    async (ending) => {
      const job = await submitted();
      provider.onPoll = async () => {
        if (ending.status === 'expired') await expire(job);
        else await finish(engine, job, ending);
        return SUCCESS;
      };
      expect(await stage.step(job)).toMatchObject({ status: ending.status, costMicro: 0n });
      expect(provider.opened).toBe(0);
      expect(await engine.jobs.claimCancellations(100)).toMatchObject([{ job: { id: job.id } }]);
      await engine.jobs.endCancellation(job);
    },
  );

  async function expire(job: MediaJob): Promise<void> {
    await engine.dataSource.transaction(async (manager) => {
      await manager.query('ALTER TABLE media_job DISABLE TRIGGER USER');
      await manager.query('UPDATE media_job SET expires_at = now() WHERE id = $1', [job.id]);
      await manager.query('ALTER TABLE media_job ENABLE TRIGGER USER');
    });
    await finish(engine, job, { status: 'expired' });
  }
});
