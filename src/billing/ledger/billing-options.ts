/** Intervals and wait limits of the ledger. The lease's 20 seconds and the sweeper's 10 are in the SQL functions. */
export interface BillingOptions {
  readonly heartbeatIntervalMs: number;
  /** From the end of an audit to the next one, at least. */
  readonly auditIntervalMs: number;
  /** How long an audit may take. */
  readonly auditTimeoutMs: number;
  /** How long a request waits for its hold before it fails with `service_unavailable`. */
  readonly reserveMaxWaitMs: number;
  /** How long a request waits for its charge to be committed: long enough for a restart of the database. */
  readonly finishMaxWaitMs: number;
  /** How long shutdown waits for charges that are not committed yet. */
  readonly drainTimeoutMs: number;
}

export const BILLING_OPTIONS = Symbol('BillingOptions');

export const DEFAULT_BILLING_OPTIONS: BillingOptions = {
  heartbeatIntervalMs: 5_000,
  auditIntervalMs: 60_000,
  auditTimeoutMs: 60_000,
  reserveMaxWaitMs: 1_800,
  finishMaxWaitMs: 10_000,
  drainTimeoutMs: 10_000,
};
