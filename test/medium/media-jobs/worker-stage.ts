/**
 * The work on jobs without an application around it: the real steps on a real database and real files, whose turns the
 * tests begin one by one, and providers that say what the tests have them say.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { compilePrice } from '../../../src/billing/price';
import { systemClock } from '../../../src/common/clock';
import { loadConfig } from '../../../src/config/load-config';
import type { Candidate } from '../../../src/inference/inference.types';
import type { JobInputs } from '../../../src/media-jobs/job-inputs';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { ArtifactIntake } from '../../../src/media-jobs/worker/artifact-intake';
import { FinalizeStep } from '../../../src/media-jobs/worker/finalize-step';
import { JobEndings } from '../../../src/media-jobs/worker/job-endings';
import { JobSweeps } from '../../../src/media-jobs/worker/job-sweeps';
import { JobTargets } from '../../../src/media-jobs/worker/job-targets';
import { JobTurns } from '../../../src/media-jobs/worker/job-turns';
import { DEFAULT_JOB_WORKER_OPTIONS, type JobWorkerOptions } from '../../../src/media-jobs/worker/job-worker-options';
import { PollStep } from '../../../src/media-jobs/worker/poll-step';
import { SubmitStep } from '../../../src/media-jobs/worker/submit-step';
import { laneOf } from '../../../src/media-jobs/worker/turn';
import { ArtifactProbe } from '../../../src/media/artifact-probe';
import type { CatalogModel, Deployment, Price } from '../../../src/models/catalog-model';
import type {
  AsyncJobAdapter,
  JobAdapter,
  JobCapabilities,
  JobHandle,
  JobSnapshot,
  SyncJobAdapter,
} from '../../../src/providers/contract/media-job';
import type { Provider } from '../../../src/providers/contract/provider';
import { ProviderError, type ProviderErrorOptions } from '../../../src/providers/contract/provider-error';
import { LocalStorage } from '../../../src/storage/local-storage';
import type { ObjectStorage } from '../../../src/storage/object-storage';
import { StoredObjectRepository } from '../../../src/storage/stored-object.repository';
import { StoredObjects } from '../../../src/storage/stored-objects';
import type { WakeUp } from '../../../src/queue/wake-up';
import { type JobEngine, letPass, requireJob } from './job-engine';

/** Micro-units a second, of every job here. */
export const RATE = 200n;
const PRICE: Price = { video: { rows: [{ resolution: '*', audio: '*', per_second_micro: Number(RATE) }] } };

export const CAPABLE: JobCapabilities = {
  cancel: 'always',
  progress: true,
  idempotentSubmit: true,
  outputTtlSeconds: 3_600,
  pollMs: [2_000, 30_000],
};
export const SUCCESS: JobSnapshot = { state: 'succeeded', outputs: [{ type: 'video', url: null }], usage: null };
export const RUNNING: JobSnapshot = { state: 'running', progress: 40 };

/** A provider that keeps count, and does whatever a test puts in the place of a method. */
export class ScriptedProvider {
  readonly mode = 'async';
  readonly submissions: string[] = [];
  readonly canceled: string[] = [];
  polls = 0;
  opened = 0;
  capabilities = CAPABLE;
  onSubmit: (token: string) => Promise<JobHandle> = (token) => Promise.resolve(this.handle(token));
  onPoll: () => Promise<JobSnapshot> = () => Promise.resolve(SUCCESS);
  onOpen: () => Promise<Readable>;

  constructor(
    readonly id: string,
    file: Buffer,
  ) {
    this.onOpen = () => Promise.resolve(Readable.from([file]));
  }

  handle(token: string): JobHandle {
    return { v: 1, provider: this.id, upstreamModel: 'upstream', id: `of ${token}` };
  }

  get adapter(): AsyncJobAdapter {
    return {
      mode: 'async',
      capabilities: this.capabilities,
      submit: (_spec, token) => {
        this.submissions.push(token);
        return this.onSubmit(token);
      },
      poll: () => {
        this.polls++;
        return this.onPoll();
      },
      cancel: ({ id }) => {
        this.canceled.push(id);
        return Promise.resolve('canceled');
      },
      open: () => {
        this.opened++;
        return this.onOpen();
      },
    };
  }
}

/** The storage of the tests, which fails as often as it is told to. */
class FailingStorage {
  failures = 0;
  puts = 0;

  constructor(private readonly storage: LocalStorage) {}

  asStorage(): ObjectStorage {
    const { storage } = this;
    return {
      put: async (key, body) => {
        this.puts++;
        if (this.failures-- > 0) throw new Error('the storage is away');
        return storage.put(key, body);
      },
      sign: (key) => storage.sign(key),
      read: (key) => storage.read(key),
      keyOf: (url) => storage.keyOf(url),
      delete: (key) => storage.delete(key),
      close: () => storage.close(),
    };
  }
}

export interface StageSettings {
  readonly options?: Partial<JobWorkerOptions>;
  readonly concurrency?: number;
  readonly leaseSeconds?: number;
  readonly maxArtifactBytes?: number;
}

/** Workers share the engine's database, and each has a process's worth of everything else. */
export class WorkerStage {
  readonly storage: FailingStorage;
  readonly woken: { readonly wakeUp: WakeUp; readonly delayMs: number }[] = [];
  readonly adapters = new Map<string, JobAdapter>();
  readonly turns: JobTurns;
  readonly sweeps: JobSweeps;
  /** Places that are held at providers. */
  flights = 0;
  private readonly probe = new ArtifactProbe();
  private readonly directory = mkdtempSync(join(tmpdir(), 'worker-stage-'));

  /** @param deployments ids, each of a provider of the same name */
  constructor(
    readonly engine: JobEngine,
    readonly deployments: readonly string[],
    { options: overrides = {}, concurrency = 8, leaseSeconds = 60, maxArtifactBytes = 1e7 }: StageSettings = {},
  ) {
    const { inference, worker, ...rest } = loadConfig({ DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x' });
    const config = { ...rest, inference, worker: { ...worker, concurrency, leaseSeconds, maxArtifactBytes } };
    const options = { ...DEFAULT_JOB_WORKER_OPTIONS, ...overrides };
    const local = { secret: 's'.repeat(32), signedUrlTtlSeconds: 60, baseUrl: () => 'http://127.0.0.1' };
    this.storage = new FailingStorage(new LocalStorage({ ...local, root: this.directory }, systemClock));
    const rows = new StoredObjectRepository(engine.dataSource);
    const objects = new StoredObjects(this.storage.asStorage(), rows, config);
    const noAddresses = {} as never;
    const intake = new ArtifactIntake(noAddresses, this.probe, objects, config, options);
    const endings = new JobEndings(engine.endings, engine.jobs, systemClock);
    const prices = { findPrice: () => Promise.resolve(PRICE) } as never;
    const finalize = new FinalizeStep(engine.work, intake, prices, endings);
    const targets = this.createTargets();
    const inputs = { load: () => Promise.resolve({ firstFrame: null, lastFrame: null, references: [] }) };
    const submit = new SubmitStep(
      engine.work,
      engine.jobs,
      targets,
      inputs as Partial<JobInputs> as JobInputs,
      finalize,
      endings,
      systemClock,
      config,
      options,
    );
    const poll = new PollStep(engine.work, targets, finalize, endings, systemClock, config, options);
    const wakeUps = {
      isReachable: true,
      send: (wakeUp: WakeUp, delayMs: number) => {
        this.woken.push({ wakeUp, delayMs });
        return Promise.resolve();
      },
    } as never;
    this.turns = new JobTurns(engine.work, submit, poll, wakeUps, systemClock, config, options);
    const removal = {} as never;
    this.sweeps = new JobSweeps(engine.jobs, this.turns, endings, targets, removal, wakeUps, config, options);
  }

  /** One turn, as if its wake-up had come in time. Answers with the job as it is then. */
  async turn(job: MediaJob): Promise<MediaJob> {
    await this.begin(await requireJob(this.engine, job.id, job));
    return requireJob(this.engine, job.id, job);
  }

  /** The same for a job as it was read; resolves at the end of the turn. */
  async begin(job: MediaJob): Promise<void> {
    await this.turns.begin({ id: job.id, version: job.version, lane: laneOf(job) });
  }

  /** Turns until the job has ended. */
  async work(job: MediaJob, mostTurns = 10): Promise<MediaJob> {
    let current = job;
    for (let count = 0; count < mostTurns && current.completedAt === null; count++) current = await this.turn(current);
    return current;
  }

  /** As if the worker that has this job died and its lease ran out. */
  async loseWorker(job: MediaJob): Promise<MediaJob> {
    await letPass(this.engine, job.id, 61);
    return requireJob(this.engine, job.id, job);
  }

  async close(): Promise<void> {
    await this.turns.stop(0);
    await this.probe.onModuleDestroy();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private createTargets(): JobTargets {
    const deployments = this.deployments.map((id) => ({ id, provider: id, upstreamModel: 'upstream' }) as Deployment);
    const model = { id: 'mock/video-1', deployments } as Partial<CatalogModel> as CatalogModel;
    const provider = (id: string): Provider => ({ id, video: this.adapters.get(id), quirks: {} }) as Provider;
    const candidates = (): Candidate[] =>
      deployments.map(
        (deployment) =>
          ({
            model,
            deployment,
            provider: provider(deployment.provider),
            priceVersion: { id: 'price-1' },
            price: compilePrice(PRICE),
            features: {},
            quirks: {},
          }) as Partial<Candidate> as Candidate,
      );
    const begin = () => {
      this.flights++;
      const end = () => void this.flights--;
      return { succeed: end, fail: end, abandon: end };
    };
    return new JobTargets(
      { list: () => [model] } as never,
      { select: candidates } as never,
      { get: provider } as never,
      { begin } as never,
    );
  }
}

/** A failure of a provider. */
export function failure(code: ProviderError['code'], options: Partial<ProviderErrorOptions> = {}): ProviderError {
  return new ProviderError(code, 'In words of our own.', { phase: 'headers', fallback: true, ...options });
}

/** A provider that is waited for. */
export function syncAdapter(make: SyncJobAdapter['make'], open: () => Readable): SyncJobAdapter {
  return {
    mode: 'sync',
    capabilities: { ...CAPABLE, cancel: 'never', idempotentSubmit: false },
    make,
    open: () => Promise.resolve(open()),
  };
}
