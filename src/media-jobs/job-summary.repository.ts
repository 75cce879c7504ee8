import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { JOB_STATUSES, type JobStatus } from './media-job.states';

export interface JobCount {
  readonly status: JobStatus;
  /** The provider that the jobs were last sent to; `null`: not sent yet. */
  readonly provider: string | null;
  readonly jobs: number;
}

export interface WaitingJob {
  readonly id: string;
  readonly organizationId: string;
  readonly model: string;
  readonly createdAt: Date;
}

export interface JobsSummary {
  /** Jobs that ended before this are not counted. */
  readonly endedSince: Date;
  readonly counts: readonly JobCount[];
  /** The job that has been queued for longest. */
  readonly oldestWaiting: WaitingJob | null;
}

/** Uses `media_job_due_index`, which has only the few unfinished jobs, and `media_job_completed_index`. */
const COUNTS = `
  SELECT status, provider, count(*)::integer AS jobs
    FROM (SELECT status, provider FROM media_job WHERE completed_at IS NULL
          UNION ALL
          SELECT status, provider FROM media_job WHERE completed_at >= $1) job
   GROUP BY status, provider ORDER BY array_position($2::text[], status), provider`;

const OLDEST_WAITING = `
  SELECT id, organization_id AS "organizationId", model, created_at AS "createdAt"
    FROM media_job WHERE completed_at IS NULL AND status = 'queued' ORDER BY created_at, id LIMIT 1`;

/** Counts of jobs across all organizations. */
@Injectable()
export class JobSummaryRepository {
  constructor(private readonly dataSource: DataSource) {}

  async summarize(endedSince: Date): Promise<JobsSummary> {
    const [counts, [oldest]] = await Promise.all([
      this.dataSource.query<JobCount[]>(COUNTS, [endedSince, JOB_STATUSES]),
      this.dataSource.query<WaitingJob[]>(OLDEST_WAITING),
    ]);
    return { endedSince, counts, oldestWaiting: oldest ?? null };
  }
}
