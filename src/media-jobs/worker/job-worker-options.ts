/** Injection token of {@link JobWorkerOptions}. */
export const JOB_WORKER_OPTIONS = Symbol('JobWorkerOptions');

/** Time limits and intervals of the job worker, in milliseconds. */
export interface JobWorkerOptions {
  /** Time limit of a submission. */
  readonly submitTimeoutMs: number;
  /** Time limit of a poll or a cancellation. */
  readonly pollTimeoutMs: number;
  /**
   * When a poll takes this long, its job is claimed. Shorter than the time that other processes wait before they poll
   * it.
   */
  readonly claimPollAfterMs: number;
  /** Time limit of one file download. */
  readonly artifactTimeoutMs: number;
  /** How long a job waits for a provider after the first refusal before it fails. */
  readonly maxWaitMs: number;
  /** Interval of the sweep for lost wake-ups while Redis is reachable. */
  readonly sweepMs: number;
  /** Longest pause of a busy sweep, and of a write that waits for the database. */
  readonly retryMs: number;
  /** How long a provider may lack a job or its result before the job fails. */
  readonly setbackMs: number;
  /** Pause after an internal failure. */
  readonly repairMs: number;
}

export const DEFAULT_JOB_WORKER_OPTIONS: JobWorkerOptions = {
  submitTimeoutMs: 60_000,
  pollTimeoutMs: 15_000,
  claimPollAfterMs: 2_000,
  artifactTimeoutMs: 600_000,
  maxWaitMs: 900_000,
  sweepMs: 5_000,
  retryMs: 1_000,
  setbackMs: 120_000,
  repairMs: 5_000,
};
