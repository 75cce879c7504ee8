/** Shared by the fault tests of jobs: an API, workers to kill, a provider that counts calls, and the database rows. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, type DataDirectory, GatewayProcess } from '../harness/gateway-process';
import { type MockMediaEvent, readMockMediaLog, readMockMediaTokens } from '../harness/mock-media';
import { WorkerProcess } from '../harness/worker-process';
import { FULL, until } from './figures';
import { type Customer, Operator } from './operator';
import { RedisProcess } from './redis-process';

/** A second of audio, the fastest output to generate. */
const TUNE = { model: 'mock/music-1', duration_seconds: 1, format: 'wav' };
/** Its price in the catalogue. */
const TUNE_COST_MICRO = 500;

const UUID_LENGTH = 36;

/** The design requires 75 s with a lease of 60 s; the short form has a shorter lease and the same margin. */
const LEASE_SECONDS = FULL ? 60 : 2;
export const RECOVERY_MS = (LEASE_SECONDS + 15) * 1_000;
/** For workers that are killed. The short form shares the server's connections with other tests. */
export const KILLED_WORKERS = {
  WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
  WORKER_CONCURRENCY: '60',
  DATABASE_POOL_SIZE: FULL ? '40' : '24',
  MONEY_POOL_SIZE: FULL ? '30' : '8',
};

/** Counts of jobs by status. */
export type Census = Readonly<Record<string, number>>;

export interface Accounts {
  readonly jobs: number;
  readonly succeeded: number;
  readonly charges: number;
  /** Total micro-units of all jobs. */
  readonly charged: number;
  readonly artifacts: number;
  readonly objects: number;
  readonly held: number;
  /** Submissions at the provider, and the number of jobs that they belong to. */
  readonly accepted: number;
  readonly acceptedJobs: number;
}

const ACCOUNTS = `
  SELECT count(*)::int AS jobs,
         count(*) FILTER (WHERE status = 'succeeded')::int AS succeeded,
         sum((SELECT count(*) FROM ledger_entry e WHERE e.reservation_id = j.id AND e.kind = 'charge'))::int AS charges,
         sum((SELECT COALESCE(sum(e.amount_micro), 0) FROM ledger_entry e
               WHERE e.reservation_id = j.id AND e.kind = 'charge'))::int AS charged,
         sum((SELECT count(*) FROM media_artifact a WHERE a.job_id = j.id))::int AS artifacts,
         sum((SELECT count(*) FROM stored_object o WHERE o.key LIKE '%/' || j.id || '/%'))::int AS objects,
         sum((SELECT count(*) FROM reservation r WHERE r.id = j.id AND r.state = 'held'))::int AS held
    FROM media_job j WHERE id = ANY ($1)`;

/** The expected accounts of jobs that all succeeded, whatever happened to their workers. */
export function allSucceeded(jobs: number): Accounts {
  return {
    jobs,
    succeeded: jobs,
    charges: jobs,
    charged: jobs * TUNE_COST_MICRO,
    artifacts: jobs,
    objects: jobs,
    held: 0,
    accepted: jobs,
    acceptedJobs: jobs,
  };
}

export class JobFixture {
  private constructor(
    readonly database: TestDatabase,
    readonly redis: RedisProcess,
    readonly operator: Operator,
    readonly customer: Customer,
    readonly gateway: GatewayProcess,
    private readonly data: DataDirectory,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  /**
   * With a gateway that runs no worker.
   *
   * @param build folder of another version's build, which the gateway runs
   */
  static async start(settings: Readonly<Record<string, string>> = {}, build?: string): Promise<JobFixture> {
    const database = await createTestDatabase();
    const redis = await RedisProcess.start();
    const operator = await Operator.connect(database.url);
    const data = createDataDirectory();
    const environment = { MOCK_MEDIA_PROVIDER: 'true', MOCK_MEDIA_DIR: join(data.path, 'mock-media'), ...settings };
    const gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: redis.url,
      dataDir: data.path,
      ...(build !== undefined && { build }),
      environment: { WORKER: 'none', ...environment },
    });
    const customer = await operator.customer();
    return new JobFixture(database, redis, operator, customer, gateway, data, environment);
  }

  /** @param build folder of another version's build */
  startWorker(environment: Readonly<Record<string, string>> = {}, build?: string): Promise<WorkerProcess> {
    const { database, redis, data } = this;
    return WorkerProcess.start({
      databaseUrl: database.url,
      redisUrl: redis.url,
      dataDir: data.path,
      ...(build !== undefined && { build }),
      environment: { ...this.environment, ...environment },
    });
  }

  /**
   * Submits a job and returns its id.
   *
   * @param directives script of the job at its provider
   * @param fields more fields of the request
   * @param kind of the result
   */
  async submit(directives: string, fields: object = {}, kind: 'music' | 'video' = 'music'): Promise<string> {
    const request = {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.customer.key}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ ...TUNE, prompt: `[[mock: ${directives}]] a waltz`, ...fields }),
    };
    for (;;) {
      const response = await fetch(`${this.gateway.url}/v1/${kind}/generations`, request);
      const text = await response.text();
      if (response.status === 202) return (JSON.parse(text) as { id: string }).id;
      // On a busy machine Redis answers late; a request refused for that can be retried with its key.
      if (response.status !== 503) throw new Error(`${response.status}: ${text}`);
      await delay(500);
    }
  }

  submitMany(count: number, directivesOf: (index: number) => string): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => this.submit(directivesOf(index))));
  }

  /** Number of these jobs by state. */
  async census(ids: readonly string[]): Promise<Census> {
    const rows = await this.operator.rows<{ status: string; count: number }>(
      'SELECT status, count(*)::int AS count FROM media_job WHERE id = ANY ($1) GROUP BY status',
      [ids],
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  /** The status of each job. */
  async statuses(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.operator.rows<{ id: string; status: string }>(
      'SELECT id, status FROM media_job WHERE id = ANY ($1)',
      [ids],
    );
    return new Map(rows.map(({ id, status }) => [id, status]));
  }

  /** Resolves when the provider has received all of them. */
  async allSubmitted(ids: readonly string[]): Promise<void> {
    await until('the submissions', 30_000, async () => (await this.census(ids)).queued === undefined);
  }

  /** Resolves with the milliseconds until all of them ended. */
  allEnded(ids: readonly string[], withinMs: number): Promise<number> {
    return until('the end of all jobs', withinMs, async () => {
      const { queued, submitted, running } = await this.census(ids);
      return queued === undefined && submitted === undefined && running === undefined;
    });
  }

  providerLog(): Promise<MockMediaEvent[]> {
    return readMockMediaLog(this.providerDirectory);
  }

  private get providerDirectory(): string {
    return join(this.data.path, 'mock-media');
  }

  /** The records of these jobs. @throws Error when the ledger is invalid */
  async accounts(ids: readonly string[]): Promise<Accounts> {
    const violations = await this.operator.violations();
    if (violations.length > 0)
      throw new Error(JSON.stringify(violations, (_, each) => (typeof each === 'bigint' ? String(each) : each)));
    const [row] = await this.operator.rows<Omit<Accounts, 'accepted' | 'acceptedJobs'>>(ACCOUNTS, [ids]);
    if (row === undefined) throw new Error('the jobs are gone');
    const mine = new Set(ids);
    const tokens = await readMockMediaTokens(this.providerDirectory);
    const accepted = tokens.filter((token) => mine.has(token.slice(0, UUID_LENGTH)));
    const jobs = new Set(accepted.map((token) => token.slice(0, UUID_LENGTH)));
    return { ...row, accepted: accepted.length, acceptedJobs: jobs.size };
  }

  async stop(): Promise<void> {
    await endChildren();
    await this.redis.stop();
    await this.operator.close();
    await this.database.drop();
    this.data.remove();
  }
}
