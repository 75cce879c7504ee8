import { randomUUID } from 'node:crypto';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import type { Clock } from '../../../src/core/time/clock';
import { JobMoneyRepository } from '../../../src/media-jobs/job-money.repository';
import { receiptOf } from '../../../src/media-jobs/job-receipt';
import { JobWorkRepository } from '../../../src/media-jobs/job-work.repository';
import { MediaJobRepository } from '../../../src/media-jobs/media-job.repository';
import type { JobEnding, JobKind, MediaJob } from '../../../src/media-jobs/media-job.types';
import type { ApiKeySettingsInput } from '../../../src/auth/api-keys/api-key-settings';
import { ApiKeyService } from '../../../src/auth/api-keys/api-key.service';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';

export const VIDEO = '/v1/video/generations';
export const MUSIC = '/v1/music/generations';
export const RESULT = Buffer.from('what a provider has made');

/** How far a worker has come. `claimed`: without any externally visible step. */
export type Stage = 'claimed' | 'submitting' | 'submitted' | 'running' | 'finalizing';

/** Retries a request that a busy machine refused. */
export async function untilServed(call: () => Promise<CallReply>): Promise<CallReply> {
  for (;;) {
    const reply = await call();
    if (reply.status !== 503) return reply;
  }
}

/** A gateway with media providers and without a worker: the tests drive the jobs. */
export class JobGateway {
  private constructor(
    readonly gateway: TestGateway,
    readonly customer: TestCustomer,
  ) {}

  static async start(environment: Record<string, string> = {}, clock?: Clock): Promise<JobGateway> {
    const settings = { MOCK_MEDIA_PROVIDER: 'true', WORKER: 'none', ...environment };
    const gateway = await TestGateway.start(settings, clock);
    return new JobGateway(gateway, await gateway.customer());
  }

  /** @throws Error when the ledger is invalid at the end of the tests */
  async stop(): Promise<void> {
    const violations = await this.gateway.violations();
    await this.gateway.stop();
    if (violations.length > 0) throw new Error(`broken invariants: ${JSON.stringify(violations)}`);
  }

  /** Submits five seconds of `mock/video-1` under a new key by default. */
  createVideo(
    body: object = {},
    { customer = this.customer, key = randomUUID() }: { customer?: TestCustomer; key?: string } = {},
  ): Promise<CallReply> {
    const defaults = { model: 'mock/video-1', prompt: 'a boat' };
    const headers = { 'idempotency-key': key };
    return this.gateway.call(VIDEO, { key: customer.key, headers, body: { ...defaults, ...body } });
  }

  createMusic(
    body: object = {},
    { customer = this.customer, key = randomUUID() }: { customer?: TestCustomer; key?: string } = {},
  ): Promise<CallReply> {
    const defaults = { model: 'mock/music-1', prompt: 'a waltz' };
    const headers = { 'idempotency-key': key };
    return this.gateway.call(MUSIC, { key: customer.key, headers, body: { ...defaults, ...body } });
  }

  getJob(id: string, customer = this.customer): Promise<CallReply> {
    return this.gateway.call(`/v1/jobs/${id}`, { key: customer.key });
  }

  deleteVideo(id: string, customer = this.customer): Promise<CallReply> {
    return this.gateway.call(`${VIDEO}/${id}`, { key: customer.key, method: 'DELETE' });
  }

  /** Id of a new job; retried when a busy machine refuses it. */
  async submitted(body: object = {}, customer = this.customer): Promise<string> {
    const key = randomUUID();
    const reply = await untilServed(() => this.createVideo(body, { customer, key }));
    if (reply.status !== 202) throw new Error(`the job was not accepted: ${reply.text}`);
    return reply.json.id as string;
  }

  /** Another key of the same organization. */
  async anotherKey(customer: TestCustomer, settings: ApiKeySettingsInput): Promise<TestCustomer> {
    const { key, apiKey } = await this.service(ApiKeyService).create(customer.organizationId, settings, COMMAND_LINE);
    return { ...customer, keyId: apiKey.id, key };
  }

  /** Reads the job of any organization. */
  async job(id: string): Promise<MediaJob> {
    const [row] = await this.gateway.rows<{ organization_id: string }>(
      'SELECT organization_id FROM media_job WHERE id = $1',
      [id],
    );
    const job = await this.service(MediaJobRepository).find(id, row?.organization_id ?? id, null);
    if (job === null) throw new Error(`job ${id} is not there`);
    return job;
  }

  /** Brings a queued job to the given stage, as a worker does. */
  async workOn(id: string, until: Stage, provider = 'mock-media'): Promise<MediaJob> {
    const work = this.service(JobWorkRepository);
    const claim = async (): Promise<MediaJob> => {
      const claimed = await work.claim(await this.job(id), 'a test');
      if (claimed === null) throw new Error(`job ${id} could not be claimed`);
      return claimed;
    };
    let job = await claim();
    if (until === 'claimed') return job;
    const target = { provider, deploymentId: job.route[0] ?? '', priceVersionId: randomUUID(), mode: 'async' } as const;
    await work.beginSubmission(job, target);
    if (until === 'submitting') return this.job(id);
    await work.storeHandle(job, { v: 1, provider, upstreamModel: 'a model', id: 'upstream' }, 0);
    if (until === 'submitted') return this.job(id);
    job = await claim();
    await work.recordPoll(job, { isRunning: true, progress: 40 }, 0);
    if (until === 'running') return this.job(id);
    job = await claim();
    await work.beginFinalizing(job);
    return this.job(id);
  }

  /** Completes a queued job with one file and the cost `costMicro`. */
  async succeed(id: string, costMicro = 1_000n): Promise<MediaJob> {
    const job = await this.workOn(id, 'finalizing');
    return this.finish(job, { status: 'succeeded', costMicro, artifacts: [await this.store(job)] });
  }

  async finish(job: MediaJob, ending: JobEnding): Promise<MediaJob> {
    const receipt = receiptOf(job, ending, NO_USAGE, Date.now());
    const ended = await this.service(JobMoneyRepository).finish(job.id, ending, receipt);
    if (ended === null) throw new Error(`job ${job.id} could not end as ${ending.status}`);
    return ended;
  }

  /** Stores a result. */
  async store({ id, organizationId, kind }: MediaJob) {
    const [contentType, type] = kind === 'video' ? ['video/mp4', 'video' as const] : ['audio/mpeg', 'audio' as const];
    const stored = await this.service(StoredObjects).store({
      kind,
      organizationId,
      id,
      index: 0,
      contentType,
      body: RESULT,
    });
    const side = kind === 'video' ? 720 : null;
    return {
      type,
      contentType,
      sizeBytes: stored.sizeBytes,
      width: side,
      height: side,
      durationSeconds: 5.04,
      storageKey: stored.key,
    };
  }

  /** Makes `finalizing_at` of a job older by this many seconds. */
  async letFinalize(id: string, seconds: number): Promise<void> {
    await this.gateway.rows(
      'UPDATE media_job SET finalizing_at = finalizing_at - make_interval(secs => $2) WHERE id = $1',
      [id, seconds],
    );
  }

  /** Expires a job directly in the database: no statement of the gateway may do that. */
  async letExpire(id: string): Promise<void> {
    const client = await this.gateway.pool.connect();
    try {
      await client.query(`SET session_replication_role = replica`);
      await client.query(`UPDATE media_job SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    } finally {
      await client.query('RESET session_replication_role');
      client.release();
    }
  }

  /** The available balance: it lacks any hold that was not released. */
  async balance({ organizationId }: TestCustomer = this.customer): Promise<number> {
    const [row] = await this.gateway.rows<{ balance: string }>(
      'SELECT balance_micro - reserved_micro AS balance FROM organization_account WHERE organization_id = $1',
      [organizationId],
    );
    return Number(row?.balance);
  }

  /** Keys of all stored objects of an organization. */
  async objects({ organizationId }: TestCustomer): Promise<string[]> {
    const rows = await this.gateway.rows<{ key: string }>(
      'SELECT key FROM stored_object WHERE organization_id = $1 ORDER BY key',
      [organizationId],
    );
    return rows.map(({ key }) => key);
  }

  jobCount({ organizationId }: TestCustomer, kind: JobKind = 'video'): Promise<number> {
    return this.gateway
      .rows('SELECT FROM media_job WHERE organization_id = $1 AND kind = $2', [organizationId, kind])
      .then((rows) => rows.length);
  }

  service<Service>(type: string | (new (...parts: never[]) => Service)): Service {
    return this.gateway.app.get(type, { strict: false });
  }
}
