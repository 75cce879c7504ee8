/** Intervals and patience of the money engine. The lease's 20 seconds and the sweeper's 10 are in the SQL functions. */
export interface BillingOptions {
  readonly heartbeatIntervalMs: number;
  readonly sweepIntervalMs: number;
  readonly auditIntervalMs: number;
  /** How long a request waits to be admitted before it is told that the service is unavailable. */
  readonly reservePatienceMs: number;
  /** How long a request waits for its charge to be committed: long enough for a restart of the database. */
  readonly finishPatienceMs: number;
  /** How long a stop waits for charges that are not committed yet. */
  readonly drainTimeoutMs: number;
}

export const BILLING_OPTIONS = Symbol('BillingOptions');

export const DEFAULT_BILLING_OPTIONS: BillingOptions = {
  heartbeatIntervalMs: 5_000,
  sweepIntervalMs: 5_000,
  auditIntervalMs: 60_000,
  reservePatienceMs: 1_800,
  finishPatienceMs: 10_000,
  drainTimeoutMs: 10_000,
};
