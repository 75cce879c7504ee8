import type { Clock } from '../../core/time/clock';
import type { RequestTrace } from '../../core/types/trace';
import type { JobWorkRepository } from '../job-work.repository';
import type { JobClaim, JobWakeUp, MediaJob, PolledJob } from '../media-job.types';

/**
 * When the next step is due, and the row version that says so. `null`: the job has ended or belongs to another worker.
 */
export type NextStep = {
  readonly inMs: number;
  readonly version: number;
  /** The job that a provider has accepted in this step, so that the next step is a poll. */
  readonly accepted?: PolledJob;
} | null;

/** A claimed job, until its lease is released or lost. */
export interface JobLease {
  readonly job: MediaJob;
  /** The trace of this step; `null`: the submission of the job was not traced. */
  readonly trace: RequestTrace | null;
  /** Aborted when the job has ended or belongs to another worker, so further work has no effect. */
  readonly leaseLost: AbortSignal;
  /** Also aborted when the process shuts down: work that another process can repeat should stop. */
  readonly stopRequested: AbortSignal;
}

/** @param scheduled what the write of the next due time returned */
export function nextStep(scheduled: JobWakeUp | null, inMs: number): NextStep {
  return scheduled === null ? null : { inMs, version: scheduled.version };
}

/** Ends a step without a result: the job is due again in `inMs`. */
export async function reschedule(
  work: Pick<JobWorkRepository, 'reschedule'>,
  claim: JobClaim,
  inMs: number,
): Promise<NextStep> {
  return nextStep(await work.reschedule(claim, inMs), inMs);
}

/** Three renewals may be late or fail before the lease expires. */
const RENEWALS_PER_LEASE = 4;

/** Renews the lease of a job while a step runs, and signals its loss. */
export class LeaseKeeper {
  private readonly losing = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private heldUntilMs: number;

  constructor(
    private readonly work: Pick<JobWorkRepository, 'renewLease'>,
    private readonly claim: JobClaim,
    private readonly leaseSeconds: number,
    private readonly clock: Clock,
  ) {
    const leaseMs = leaseSeconds * 1_000;
    this.heldUntilMs = clock.monotonic() + leaseMs;
    this.timer = setInterval(() => void this.renew(), leaseMs / RENEWALS_PER_LEASE).unref();
  }

  get lost(): AbortSignal {
    return this.losing.signal;
  }

  end(): void {
    clearInterval(this.timer);
  }

  private async renew(): Promise<void> {
    // Counted from the request, because the response may have been delayed.
    const askedAtMs = this.clock.monotonic();
    try {
      if (await this.work.renewLease(this.claim, this.leaseSeconds)) {
        this.heldUntilMs = askedAtMs + this.leaseSeconds * 1_000;
        return;
      }
    } catch {
      // The database is unreachable, so no other worker can claim the job either. The next renewal shows who holds the
      // lease.
      if (this.clock.monotonic() < this.heldUntilMs) return;
    }
    this.end();
    this.losing.abort(new Error('the lease of the job is lost'));
  }
}
