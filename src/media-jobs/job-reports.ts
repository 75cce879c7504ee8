import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import type { SignedReport } from '../providers/contract/media-job';
import type { ReportedSubmission } from './job-report-address';
import { JobReportSignatures } from './job-report-signatures';
import { JobWakeUps } from './job-wake-ups';
import { MediaJobRepository } from './media-job.repository';

/**
 * Minimum time between two polls that reports about one job cause, so that a repeated report costs no provider call.
 */
const PAUSE_MS = 2_000;
/** Maximum number of submissions whose last report is remembered. */
const MAX_REMEMBERED = 10_000;

/** Receives reports that jobs may have ended, and brings their next poll forward. */
@Injectable()
export class JobReports {
  /** The time of each submission's last report, oldest first. */
  private readonly receivedAtMs = new Map<string, number>();

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly wakeUps: JobWakeUps,
    private readonly signatures: JobReportSignatures,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Does not reveal whether the job is waiting for its next poll or needs none.
   * @throws GatewayError `validation_failed` when the vendor signs reports and this one has no valid signature;
   *   `service_unavailable` when the signature cannot be verified
   */
  async receive({ jobId, providerToken }: ReportedSubmission, report: SignedReport): Promise<void> {
    const job = await this.jobs.findReported(jobId, providerToken);
    if (job === null) return;
    await this.signatures.assertValid(job, report);
    // Checked last: an invalid report must not prevent a valid one from taking effect.
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
