import { Injectable } from '@nestjs/common';
import { JobWorkRepository, type PollFindings, type PollRecord } from '../job-work.repository';
import type { JobClaim, JobWakeUp } from '../media-job.types';

/** How long a result waits for others. The job is leased meanwhile. */
const COLLECT_MS = 50;

interface Waiting extends PollRecord {
  readonly resolve: (next: JobWakeUp | null | Promise<JobWakeUp | null>) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes polls that ended no job, many in one statement. */
@Injectable()
export class PollRecorder {
  private waiting: Waiting[] = [];

  constructor(private readonly work: JobWorkRepository) {}

  /** Resolves when the poll is recorded, as {@link JobWorkRepository.recordPoll}. */
  record(claim: JobClaim, findings: PollFindings, nextRunInMs: number): Promise<JobWakeUp | null> {
    const { promise, resolve, reject } = Promise.withResolvers<JobWakeUp | null>();
    if (this.waiting.length === 0) setTimeout(() => void this.flush(), COLLECT_MS);
    this.waiting.push({ claim, findings, nextRunInMs, resolve, reject });
    return promise;
  }

  private async flush(): Promise<void> {
    const polls = this.waiting;
    this.waiting = [];
    try {
      const recorded = new Map((await this.work.recordPolls(polls)).map((next) => [next.id, next]));
      for (const { claim, findings, nextRunInMs, resolve } of polls) {
        resolve(recorded.get(claim.id) ?? this.work.recordPoll(claim, findings, nextRunInMs));
      }
    } catch (error) {
      for (const { reject } of polls) reject(error);
    }
  }
}
