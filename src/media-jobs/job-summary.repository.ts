import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { JOB_STATUSES, type JobStatus } from './media-job.states';

export interface JobCount {
  readonly status: JobStatus;
  /** The last one that the jobs were sent to; `null` before the first. */
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
  /** Queued for longest. */
  readonly oldestWaiting: WaitingJob | null;
}

/** Over `media_job_due_index`, which has the few jobs under way, and `media_job_completed_index`. */
const COUNTS = `
  SELECT status, provider, count(*)::integer AS jobs
    FROM (SELECT status, provider FROM media_job WHERE completed_at IS NULL
          UNION ALL
          SELECT status, provider FROM media_job WHERE completed_at >= $1) job
   GROUP BY status, provider ORDER BY array_position($2::text[], status), provider`;

const OLDEST_WAITING = `
  SELECT id, organization_id AS "organizationId", model, created_at AS "createdAt"
    FROM media_job WHERE completed_at IS NULL AND status = 'queued' ORDER BY created_at, id LIMIT 1`;

/** The jobs of all organizations in figures. */
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
