import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import type { SignedReport } from '../providers/contract/media-job';
import type { ReportedSubmission } from './job-report-address';
import { JobReportSignatures } from './job-report-signatures';
import { JobWakeUps } from './job-wake-ups';
import { MediaJobRepository } from './media-job.repository';

/** Between two reports about a job that lead to a poll: a repeated report costs no call to the provider. */
const PAUSE_MS = 2_000;
/** Of jobs whose last report is remembered. */
const MAX_REMEMBERED = 10_000;

/** Receives reports that jobs may have ended, and brings their next poll forward. */
@Injectable()
export class JobReports {
  /** Submissions by the time of their last report, the oldest first. */
  private readonly receivedAtMs = new Map<string, number>();

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly wakeUps: JobWakeUps,
    private readonly signatures: JobReportSignatures,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Resolves alike for a job that waits for its next poll, and for one that needs none.
   * @throws GatewayError `validation_failed` for a report that its vendor should have signed and did not;
   *   `service_unavailable` when that cannot be verified
   */
  async receive({ jobId, providerToken }: ReportedSubmission, report: SignedReport): Promise<void> {
    const job = await this.jobs.findReported(jobId, providerToken);
    if (job === null) return;
    await this.signatures.assertValid(job, report);
    // Only now: an invalid report must not keep a valid one from counting.
    if (this.isTooEarly(providerToken)) return;
    if (await this.jobs.bringPollForward(job, providerToken)) await this.wakeUps.wake(job);
  }

  private isTooEarly(providerToken: string): boolean {
    const nowMs = this.clock.monotonic();
    const lastMs = this.receivedAtMs.get(providerToken) ?? -Infinity;
    if (nowMs - lastMs < PAUSE_MS) return true;
    this.receivedAtMs.delete(providerToken);
    this.receivedAtMs.set(providerToken, nowMs);
    const [oldest] = this.receivedAtMs.keys();
    if (this.receivedAtMs.size > MAX_REMEMBERED && oldest !== undefined) this.receivedAtMs.delete(oldest);
    return false;
  }
}
