/**
 * The job worker without an application: real steps on a real database and real files, started one by one by the tests,
 * with scripted providers.
 */
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { JobReportAddress } from '../../../src/media-jobs/job-report-address';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { compilePrice } from '../../../src/billing/pricing/price';
import { UNTRACED } from '../../harness/span-collector';
import { systemClock } from '../../../src/core/time/clock';
import { loadConfig } from '../../../src/core/config/load-config';
import type { Candidate } from '../../../src/inference/inference.types';
import { JobInputs } from '../../../src/media-jobs/job-inputs';
import { laneOf } from '../../../src/media-jobs/job-lane';
import { JobRemoval } from '../../../src/media-jobs/job-removal';
import type { JobRoutes } from '../../../src/media-jobs/job-routes';
import type { JobWakeUps } from '../../../src/media-jobs/job-wake-ups';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { ArtifactIntake } from '../../../src/media-jobs/worker/artifact-intake';
import { FinalizeStep } from '../../../src/media-jobs/worker/finalize-step';
import { ImageMemory } from '../../../src/media-jobs/worker/image-memory';
import { InputStep } from '../../../src/media-jobs/worker/input-step';
import { JobEndings } from '../../../src/media-jobs/worker/job-endings';
import { JobSweeps } from '../../../src/media-jobs/worker/job-sweeps';
import { JobTargets } from '../../../src/media-jobs/worker/job-targets';
import { JobRunner } from '../../../src/media-jobs/worker/job-runner';
import { DEFAULT_JOB_WORKER_OPTIONS, type JobWorkerOptions } from '../../../src/media-jobs/worker/job-worker-options';
import { PollStep } from '../../../src/media-jobs/worker/poll-step';
import { SubmitStep } from '../../../src/media-jobs/worker/submit-step';
import { ArtifactProbe } from '../../../src/core/media/media-probes';
import { ImageInputs } from '../../../src/core/media/image-inputs';
import type { CatalogModel, Deployment, Price } from '../../../src/models/catalog-model';
import type {
  AsyncJobAdapter,
  JobAdapter,
  JobCapabilities,
  JobHandle,
  JobSnapshot,
  JobSpec,
  SyncJobAdapter,
} from '../../../src/providers/contract/media-job';
import { GuardedClient, type OutboundLimits } from '../../../src/core/outbound/guarded-client';
import type { Provider } from '../../../src/providers/contract/provider';
import { ProviderError, type ProviderErrorOptions } from '../../../src/providers/contract/provider-error';
import { LocalStorage } from '../../../src/core/storage/local-storage';
import type { ObjectStorage } from '../../../src/core/storage/object-storage';
import { StoredObjectRepository } from '../../../src/core/storage/stored-object.repository';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { deploymentOf, finish, type JobEngine, letPass, PRICE_VERSION_ID, requireJob } from './job-engine';

/** The price of every job here, in micro-units per second. */
const RATE = 200n;
export const PRICE: Price = { video: { rows: [{ resolution: '*', audio: '*', per_second_micro: Number(RATE) }] } };

export const CAPABLE: JobCapabilities = {
  cancel: 'always',
  progress: true,
  idempotentSubmit: true,
  outputTtlSeconds: 3_600,
  pollMs: [2_000, 30_000],
};
export const SUCCESS: JobSnapshot = { state: 'succeeded', outputs: [{ type: 'video', url: null }], usage: null };
export const RUNNING: JobSnapshot = { state: 'running', progress: 40 };

/** A provider that counts its calls; tests replace its methods. */
export class ScriptedProvider {
  readonly mode = 'async';
  readonly submissions: string[] = [];
  readonly specs: JobSpec[] = [];
  readonly canceled: string[] = [];
  polls = 0;
  opened = 0;
  /** The key of the latest call for a result. */
  openedWith: string | undefined;
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
      submit: (spec, token) => {
        this.submissions.push(token);
        this.specs.push(spec);
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
      openOutput: (_output, { keyId }) => {
        this.opened++;
        this.openedWith = keyId;
        return this.onOpen();
      },
    };
  }
}

/** A storage whose next `failures` writes fail. */
class FailingStorage {
  failures = 0;
  puts = 0;

  constructor(private readonly storage: LocalStorage) {}

  asStorage(): ObjectStorage {
    const { storage } = this;
    return {
      put: async (key, body) => {
        this.puts++;
        if (this.failures-- > 0) throw new Error('the storage is unavailable');
        return storage.put(key, body);
      },
      sign: (key) => storage.sign(key),
      read: (key) => storage.read(key),
      open: (key, signal) => storage.open(key, signal),
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
  readonly maxBufferedBytes?: number;
  readonly outboundLimits?: Partial<OutboundLimits>;
  /** Default: {@link RATE} per second of video. */
  readonly price?: Price;
}

/** One worker process: shares the engine's database with others and has separate services. */
export class WorkerStage {
  readonly storage: FailingStorage;
  /** The next steps that the runner returned. */
  priceReads = 0;
  readonly scheduled: { readonly id: string; readonly inMs: number }[] = [];
  readonly adapters = new Map<string, JobAdapter>();
  readonly runner: JobRunner;
  readonly sweeps: JobSweeps;
  readonly inputs: JobInputs;
  readonly removal: JobRemoval;
  /** Open provider calls. */
  flights = 0;
  private readonly probe = new ArtifactProbe();
  private readonly directory = mkdtempSync(join(tmpdir(), 'worker-stage-'));

  /** @param providers names of providers, each with one deployment */
  constructor(
    readonly engine: JobEngine,
    private readonly providers: readonly string[],
    settings: StageSettings = {},
  ) {
    const { options: overrides = {}, concurrency = 8, leaseSeconds = 60, maxArtifactBytes = 1e7 } = settings;
    const { inference, worker, http, ...rest } = loadConfig({ DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x' });
    const { maxBufferedBytes = http.maxBufferedBytes } = settings;
    const config = {
      ...rest,
      inference,
      http: { ...http, maxBufferedBytes },
      worker: { ...worker, concurrency, leaseSeconds, maxArtifactBytes },
    };
    const options = { ...DEFAULT_JOB_WORKER_OPTIONS, ...overrides };
    const local = { secret: 's'.repeat(32), signedUrlTtlSeconds: 60, baseUrl: () => 'http://127.0.0.1' };
    this.storage = new FailingStorage(new LocalStorage({ ...local, root: this.directory }, systemClock));
    const rows = new StoredObjectRepository(engine.dataSource);
    const objects = new StoredObjects(this.storage.asStorage(), rows, config, new Metrics());
    const outbound = new GuardedClient({
      allowCidrs: ['127.0.0.1'],
      denyCidrs: [],
      denyHosts: [],
      nat64: false,
      limits: settings.outboundLimits,
    });
    const intake = new ArtifactIntake(outbound, this.probe, objects, config, options);
    const webhooks = { wakeForJob: () => Promise.resolve() } as never;
    const endings = new JobEndings(engine.endings, engine.jobs, new Metrics(), webhooks, systemClock);
    const findPrice = () => (this.priceReads++, Promise.resolve(settings.price ?? PRICE));
    const prices = { findPrice } as never;
    const finalize = new FinalizeStep(engine.work, intake, prices, endings, systemClock);
    const targets = this.createTargets();
    this.inputs = new JobInputs(new ImageInputs(outbound), outbound, objects);
    const memory = new ImageMemory(config);
    const submit = new SubmitStep(
      engine.work,
      engine.jobs,
      targets,
      this.inputs,
      memory,
      finalize,
      endings,
      new JobReportAddress({ ...config, apiKeyPepper: 'p'.repeat(32) }),
      systemClock,
      config,
      options,
    );
    const poll = new PollStep(engine.work, targets, finalize, endings, systemClock, config, options);
    const fetching = new InputStep(engine.work, this.inputs, memory, endings);
    this.removal = new JobRemoval(engine.jobs, objects);
    this.runner = new JobRunner(
      engine.work,
      fetching,
      submit,
      poll,
      this.removal,
      systemClock,
      config,
      options,
      new Metrics(),
      UNTRACED,
    );
    const routes = { hasProviders: true } as JobRoutes;
    const wakeUps = { isReachable: true, wake: () => Promise.resolve() } as Partial<JobWakeUps> as JobWakeUps;
    this.sweeps = new JobSweeps(
      engine.jobs,
      this.runner,
      endings,
      targets,
      this.removal,
      routes,
      wakeUps,
      systemClock,
      config,
      options,
    );
  }

  /** Sweeps for due jobs as the scheduler would, again and again, until the returned function is called. */
  startSweeps(): () => Promise<void> {
    const ending = new AbortController();
    const repeat = async (sweep: () => Promise<void>): Promise<void> => {
      while (!ending.signal.aborted) {
        await sweep();
        await delay(20);
      }
    };
    const sweeping = [repeat(() => this.sweeps.sweepDueJobs()), repeat(() => this.sweeps.sweepDueInputs())];
    return async () => {
      ending.abort();
      this.sweeps.stop();
      await Promise.all(sweeping);
    };
  }

  /** Runs one step, as if its wake-up were due. Returns the job after it. */
  async step(job: MediaJob): Promise<MediaJob> {
    await this.begin(await requireJob(this.engine, job.id, job));
    return requireJob(this.engine, job.id, job);
  }

  /** The same for the given version of the job; resolves at the end of the step. */
  async begin(job: MediaJob): Promise<void> {
    const end = await this.runner.begin({ ...job, lane: laneOf(job) });
    if (end !== null && end !== 'not-claimed') this.scheduled.push({ id: job.id, inMs: end.inMs });
  }

  /** Runs steps until the job has ended. */
  async work(job: MediaJob, maxSteps = 10): Promise<MediaJob> {
    let current = job;
    for (let count = 0; count < maxSteps && current.completedAt === null; count++) current = await this.step(current);
    return current;
  }

  /** Simulates the death of the job's worker: expires its lease. */
  async loseWorker(job: MediaJob): Promise<MediaJob> {
    await letPass(this.engine, job.id, 61);
    return requireJob(this.engine, job.id, job);
  }

  async close(): Promise<void> {
    await this.runner.stop(0);
    await this.probe.onModuleDestroy();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private createTargets(): JobTargets {
    const deployments = this.providers.map(
      (provider) => ({ id: deploymentOf(provider), provider, upstreamModel: 'upstream' }) as Deployment,
    );
    const model = { id: 'mock/video-1', deployments } as Partial<CatalogModel> as CatalogModel;
    const provider = (id: string): Provider => ({ id, video: this.adapters.get(id), quirks: {} }) as Provider;
    const candidates = (): Candidate[] =>
      deployments.map(
        (deployment) =>
          ({
            model,
            deployment,
            provider: provider(deployment.provider),
            priceVersion: { id: PRICE_VERSION_ID },
            price: compilePrice(PRICE),
            features: {},
            quirks: {},
          }) as Partial<Candidate> as Candidate,
      );
    const beginCall = () => {
      this.flights++;
      const end = () => void this.flights--;
      return { succeed: end, fail: end, abandon: end };
    };
    return new JobTargets(
      { list: () => [model] } as never,
      { select: candidates } as never,
      { get: provider } as never,
      { beginCall } as never,
    );
  }
}

/** What two DELETEs of a client do to a job under way, whose provider has confirmed the cancellation. */
export async function deleteCanceled(engine: JobEngine, removal: JobRemoval, job: MediaJob): Promise<void> {
  const canceled = await finish(engine, await requireJob(engine, job.id, job), { status: 'canceled' });
  if (canceled === null) throw new Error('the job could not be canceled');
  await engine.jobs.endCancellation(job);
  await engine.jobs.markDeleted(job.id, job.organizationId);
  if (!(await removal.remove(canceled))) throw new Error('the job could not be removed');
}

/** The keys of the objects of a job. */
export async function storedKeys({ dataSource }: JobEngine, { id }: MediaJob): Promise<string[]> {
  const statement = `SELECT key FROM stored_object WHERE key LIKE '%' || $1 || '%'`;
  return (await dataSource.query<{ key: string }[]>(statement, [id])).map(({ key }) => key);
}

/** A provider error. */
export function failure(code: ProviderError['code'], options: Partial<ProviderErrorOptions> = {}): ProviderError {
  return new ProviderError(code, 'In words of our own.', { phase: 'headers', fallback: true, ...options });
}

/** An adapter of a synchronous provider. */
export function syncAdapter(make: SyncJobAdapter['make'], open: () => Readable): SyncJobAdapter {
  return {
    mode: 'sync',
    capabilities: { ...CAPABLE, cancel: 'never', idempotentSubmit: false },
    make,
    openOutput: () => Promise.resolve(open()),
  };
}
