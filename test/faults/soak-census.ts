/** What a soak watches: the resources of processes, and the rows and keys that must not outlive their use. */
import { readdirSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { quantile } from './figures';
import type { Operator } from './operator';
import { residentMiB } from './process-memory';

export type Sample = Readonly<Record<string, number>>;

/** Rows that exist only while work is under way, or until a task has added them up. */
const ROWS = `
  SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) AS connections,
         (SELECT count(*) FROM reservation WHERE state = 'held') AS holds,
         (SELECT count(*) FROM usage_delta) AS usage_deltas,
         (SELECT count(*) FROM idempotency_record WHERE state = 'in_progress') AS claims,
         (SELECT count(*) FROM media_job WHERE lease_owner IS NOT NULL) AS job_leases,
         (SELECT count(*) FROM media_job WHERE completed_at IS NULL) AS open_jobs,
         (SELECT count(*) FROM webhook_delivery WHERE state = 'pending') AS pending_deliveries,
         (SELECT count(*) FROM gateway_instance) AS instances`;

/** Those of them that must be gone soon after the load. */
const LEFT_OVERS = ['holds', 'usage_deltas', 'claims', 'job_leases', 'open_jobs', 'pending_deliveries'];

export class SoakCensus {
  readonly samples: Sample[] = [];

  constructor(
    private readonly operator: Operator,
    private readonly redis: Redis,
    /** Ids of processes that live through the whole soak, by name. */
    private readonly processes: Readonly<Record<string, number>>,
  ) {}

  async take(): Promise<void> {
    const sample = { ...(await this.rows()), redis_keys: await this.redis.dbsize() };
    this.samples.push(Object.assign(sample, ...Object.entries(this.processes).map(figuresOf)));
  }

  /** The work that remains; empty when it has ended. */
  async leftOvers(): Promise<Sample> {
    const rows = await this.rows();
    return Object.fromEntries(LEFT_OVERS.flatMap((name) => (rows[name] === 0 ? [] : [[name, rows[name] ?? 0]])));
  }

  /** The peak of every series in the second and in the last quarter: warm-up is in the first. */
  peaks(): Readonly<Record<string, readonly [second: number, last: number]>> {
    return this.compare((values) => Math.max(...values));
  }

  /** The median of every series in the second and in the last quarter. */
  medians(): Readonly<Record<string, readonly [second: number, last: number]>> {
    return this.compare((values) => quantile(values, 0.5));
  }

  private compare(
    summarize: (values: readonly number[]) => number,
  ): Readonly<Record<string, readonly [second: number, last: number]>> {
    const quarter = Math.floor(this.samples.length / 4);
    const of = (name: string, from: number): number =>
      summarize(this.samples.slice(from, from + quarter).map((sample) => sample[name] ?? Number.NaN));
    const names = Object.keys(this.samples[0] ?? {});
    return Object.fromEntries(
      names.map((name) => [name, [of(name, quarter), of(name, this.samples.length - quarter)] as const]),
    );
  }

  private async rows(): Promise<Record<string, number>> {
    const [row] = await this.operator.rows<Record<string, string>>(ROWS);
    return Object.fromEntries(Object.entries(row ?? {}).map(([name, count]) => [name, Number(count)]));
  }
}

function figuresOf([name, pid]: [string, number]): Sample {
  return {
    [`${name}_rss_mib`]: Math.round(residentMiB(pid)),
    [`${name}_files`]: readdirSync(`/proc/${pid}/fd`).length,
  };
}
