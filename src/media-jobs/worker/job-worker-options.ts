/** Injection token of {@link JobWorkerOptions}. */
export const JOB_WORKER_OPTIONS = Symbol('JobWorkerOptions');

/** Time limits and intervals of the job worker, in milliseconds. */
export interface JobWorkerOptions {
  /** Time limit of a submission. */
  readonly submitTimeoutMs: number;
  /** Time limit of a poll or a cancellation. */
  readonly pollTimeoutMs: number;
  /** Time limit of one file download. */
  readonly artifactTimeoutMs: number;
  /** How long a job waits for a provider to accept it before it fails. */
  readonly patienceMs: number;
  /** Interval of the sweep for lost wake-ups. */
  readonly sweepMs: number;
  /** The same while Redis is unreachable. */
  readonly unwokenSweepMs: number;
  /** Interval of the sweep for pending cancellations. */
  readonly cancelSweepMs: number;
  /** Interval of the sweeps for deleted jobs and expired results. */
  readonly removalSweepMs: number;
  /** How long a provider may lack a job or its result before the job fails. */
  readonly setbackMs: number;
  /** Pause after an internal failure. */
  readonly repairMs: number;
}

export const DEFAULT_JOB_WORKER_OPTIONS: JobWorkerOptions = {
  submitTimeoutMs: 60_000,
  pollTimeoutMs: 15_000,
  artifactTimeoutMs: 600_000,
  patienceMs: 900_000,
  sweepMs: 5_000,
  unwokenSweepMs: 1_000,
  cancelSweepMs: 2_000,
  removalSweepMs: 60_000,
  setbackMs: 120_000,
  repairMs: 5_000,
};
