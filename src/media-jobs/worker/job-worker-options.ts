/** Injection token of {@link JobWorkerOptions}. */
export const JOB_WORKER_OPTIONS = Symbol('JobWorkerOptions');

/** Times of the work on jobs, in milliseconds. */
export interface JobWorkerOptions {
  /** For a provider to accept a job. */
  readonly submitTimeoutMs: number;
  /** For an answer about a job, and for one to its cancellation. */
  readonly pollTimeoutMs: number;
  /** For one file, from the first byte to the last. */
  readonly artifactTimeoutMs: number;
  /** How long a job waits for a provider that accepts it. Then nobody will, and its client had better know. */
  readonly patienceMs: number;
  /** Between two looks for jobs that were not woken, and for those whose time is over. */
  readonly sweepMs: number;
  /** The same while nobody can be woken. */
  readonly unwokenSweepMs: number;
  /** Between two looks for providers that have to be told to stop. */
  readonly cancelSweepMs: number;
  /** Between two looks for deleted jobs, and for results that are not kept any more. */
  readonly removalSweepMs: number;
  /** How long a provider may know nothing of a job, or not have its result, before that is the truth. */
  readonly setbackMs: number;
  /** After a failure of ours. */
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
