import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { isFinal, JOB_STATUSES } from '../media-job.states';
import { JOB_KINDS } from '../media-job.types';

const EVERY_15_SECONDS = '*/15 * * * * *';
const UNFINISHED = JOB_STATUSES.filter((status) => !isFinal(status));

interface JobCount {
  readonly kind: string;
  readonly status: string;
  readonly jobs: number;
  readonly oldest_due_seconds: number;
}

/** Uses `media_job_due_index`, which has only the few unfinished jobs. */
const COUNT_JOBS = `
  SELECT kind, status, count(*)::integer AS jobs,
         GREATEST(0, extract(epoch FROM clock_timestamp() - min(next_run_at)))::double precision AS oldest_due_seconds
    FROM media_job WHERE completed_at IS NULL GROUP BY kind, status`;
const COUNT_WEBHOOKS = `SELECT count(*)::integer AS pending FROM webhook_delivery WHERE state = 'pending'`;

/** Reads how much work is waiting in the database, for the metrics of every worker. */
@Injectable()
export class JobGauges {
  private readonly logger = new Logger(JobGauges.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
  ) {}

  @Cron(EVERY_15_SECONDS, scheduled('media-jobs.gauges'))
  readScheduled(): Promise<void> {
    const failure = { event: 'job_gauges_failed', message: 'the number of waiting jobs could not be read' };
    return logFailure(this.logger, failure, () => this.read());
  }

  async read(): Promise<void> {
    const { jobs, jobsOldestDue, webhooksPending } = this.metrics;
    const [counts, [webhooks]] = await Promise.all([
      this.dataSource.query<JobCount[]>(COUNT_JOBS),
      this.dataSource.query<{ pending: number }[]>(COUNT_WEBHOOKS),
    ]);
    jobs.clear();
    for (const kind of JOB_KINDS) for (const status of UNFINISHED) jobs.of(kind, status).set(0);
    for (const count of counts) jobs.of(count.kind, count.status).set(count.jobs);
    jobsOldestDue.of().set(Math.max(0, ...counts.map((count) => count.oldest_due_seconds)));
    webhooksPending.of().set(webhooks?.pending ?? 0);
  }
}
