import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import { JobMoneyRepository } from '../../../src/media-jobs/job-money.repository';
import { receiptOf } from '../../../src/media-jobs/job-receipt';
import { JobWorkRepository, type SubmissionTarget } from '../../../src/media-jobs/job-work.repository';
import { MediaJobRepository } from '../../../src/media-jobs/media-job.repository';
import type { JobEnding, JobSubmission, MediaJob, NewArtifact } from '../../../src/media-jobs/media-job.types';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { openDataSource } from '../../harness/data-source';
import {
  type Account,
  type MoneyEngine,
  newId,
  PATIENT_CLOCK,
  startMoneyEngine,
  startPunctualMoneyEngine,
} from '../billing/money-engine';

/** The job services of one process. */
export interface JobEngine {
  readonly money: MoneyEngine;
  readonly dataSource: DataSource;
  readonly jobs: MediaJobRepository;
  readonly work: JobWorkRepository;
  readonly endings: JobMoneyRepository;
  close(): Promise<void>;
}

/** Never times out waiting statements: test machines may be slow. */
export async function startJobEngine(url: string): Promise<JobEngine> {
  return open(startMoneyEngine(url), await openDataSource(url, 4), PATIENT_CLOCK);
}

/** Applies the real time limits. */
export async function startPunctualJobEngine(url: string): Promise<JobEngine> {
  return open(startPunctualMoneyEngine(url), await openDataSource(url, 4), systemClock);
}

function open(money: MoneyEngine, dataSource: DataSource, clock: Clock): JobEngine {
  return {
    money,
    dataSource,
    jobs: new MediaJobRepository(dataSource),
    work: new JobWorkRepository(dataSource),
    endings: new JobMoneyRepository(money.pool, clock),
    close: async () => {
      await dataSource.destroy();
      await money.close();
    },
  };
}

export const PRICE_VERSION_ID = '01a226dc-c399-7256-aaf5-f990e838c725';

/** The id of the only deployment of a provider. */
export function deploymentOf(provider: string): string {
  const digits = createHash('sha256').update(provider).digest('hex');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

export interface SubmissionOptions extends Partial<Omit<JobSubmission, 'claim' | 'route'>> {
  /** Names of providers. Default: `mock`. */
  readonly route?: readonly string[];
  readonly key?: string;
  readonly body?: string;
}

export function submissionOf(account: Account, options: SubmissionOptions = {}): JobSubmission {
  const { key, body = 'a body', route = ['mock'], ...overrides } = options;
  const id = overrides.id ?? newId();
  const holdMicro = overrides.holdMicro ?? 1_500n;
  return {
    ...account,
    id,
    kind: 'video',
    model: 'mock/video-1',
    holdMicro,
    maxCostMicro: holdMicro,
    params: { prompt: 'a boat', duration_seconds: 5 },
    settings: { durationSeconds: 5, resolution: '720p', aspectRatio: null, audio: false },
    route: route.map(deploymentOf),
    webhookUrl: null,
    metadata: {},
    traceParent: null,
    ttlSeconds: 86_400,
    claim: { operation: 'createVideo', key: key ?? id, fingerprint: createHash('sha256').update(body).digest('hex') },
    ...overrides,
  };
}

/** A submission to the only deployment of a provider. */
export function targetAt(provider: string, mode: SubmissionTarget['mode'] = 'async'): SubmissionTarget {
  return { provider, deploymentId: deploymentOf(provider), priceVersionId: PRICE_VERSION_ID, mode };
}

export const TARGET = targetAt('mock');

export const HANDLE = { v: 1, provider: 'mock', upstreamModel: 'video-1', id: 'upstream-1' } as const;

export const ARTIFACT: NewArtifact = {
  type: 'video',
  contentType: 'video/mp4',
  sizeBytes: 123_456,
  width: 1_280,
  height: 720,
  durationSeconds: 5.04,
  storageKey: 'video/1/0.mp4',
};

export const SUCCEEDED: JobEnding = { status: 'succeeded', costMicro: 1_000n, artifacts: [ARTIFACT] };
export const FAILED: JobEnding = {
  status: 'failed',
  error: { code: 'provider_error', message: 'The provider could not make it.' },
};

/** Ends a job under `guard`. */
export function finish(
  { endings }: JobEngine,
  job: MediaJob,
  ending: JobEnding,
  guard: Parameters<JobMoneyRepository['finish']>[3] = {},
): Promise<MediaJob | null> {
  return endings.finish(job.id, ending, receiptOf(job, ending, { ...NO_USAGE, seconds: 5 }, Date.now()), guard);
}

export async function submit(engine: JobEngine, account: Account, options: SubmissionOptions = {}): Promise<MediaJob> {
  const submission = submissionOf(account, options);
  await engine.endings.submit(submission);
  return requireJob(engine, submission.id, account);
}

/** A claimed job, advanced to the state `until`. */
export async function workOn(
  engine: JobEngine,
  job: MediaJob,
  until: 'claimed' | 'submitted' | 'running' | 'finalizing',
  owner = 'worker-1',
): Promise<MediaJob> {
  const { work } = engine;
  const reclaim = async (): Promise<MediaJob> => {
    const current = await requireJob(engine, job.id, job);
    const claimed = await work.claim(current, owner);
    if (claimed === null) throw new Error(`job ${job.id} could not be claimed`);
    return claimed;
  };
  let claimed = await reclaim();
  if (until === 'claimed') return claimed;
  await work.beginSubmission(claimed, TARGET);
  await work.storeHandle(claimed, HANDLE, 0);
  claimed = await reclaim();
  if (until === 'submitted') return claimed;
  await work.recordPoll(claimed, { isRunning: true, progress: 10 }, 0);
  claimed = await reclaim();
  if (until === 'finalizing') await work.beginFinalizing(claimed);
  return requireJob(engine, job.id, job);
}

export async function requireJob(
  { jobs }: JobEngine,
  id: string,
  { organizationId }: Pick<Account, 'organizationId'>,
): Promise<MediaJob> {
  const job = await jobs.find(id, organizationId, null);
  if (job === null) throw new Error(`job ${id} is not there`);
  return job;
}

/** Moves a job's times into the past instead of waiting. `expires_at` is fixed: see {@link letExpire}. */
export async function letPass({ dataSource }: JobEngine, id: string, seconds: number): Promise<void> {
  await dataSource.query(
    `UPDATE media_job SET next_run_at = next_run_at - make_interval(secs => $2),
                          lease_until = lease_until - make_interval(secs => $2),
                          finalizing_at = finalizing_at - make_interval(secs => $2),
                          cancel_due_at = cancel_due_at - make_interval(secs => $2) WHERE id = $1`,
    [id, seconds],
  );
}

/** Runs statements that the gateway never makes, without the trigger that rejects them. */
export async function tamper({ dataSource }: JobEngine, statement: string, values: unknown[]): Promise<void> {
  await dataSource.transaction(async (manager) => {
    await manager.query('ALTER TABLE media_job DISABLE TRIGGER USER');
    await manager.query(statement, values);
    await manager.query('ALTER TABLE media_job ENABLE TRIGGER USER');
  });
}

export function letExpire(engine: JobEngine, id: string): Promise<void> {
  return tamper(engine, `UPDATE media_job SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
}
