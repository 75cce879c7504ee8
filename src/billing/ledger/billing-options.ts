/** Intervals and time limits of the ledger. The lease's 20 seconds and the sweeper's 10 are in the SQL functions. */
export interface BillingOptions {
  readonly heartbeatIntervalMs: number;
  /** Minimum time between the end of an audit and the next audit. */
  readonly auditIntervalMs: number;
  /** How long an audit may take. */
  readonly auditTimeoutMs: number;
  /** How long each audit verifies single days; it always verifies at least one closed and one open day. */
  readonly daysBudgetMs: number;
  /**
   * Whole UTC days between a day and its closing. While a hold of the day is open, for example for a long job, the day
   * stays open. At least 3, because ids of the last two days are not looked up among the closed days.
   */
  readonly closeAfterDays: number;
  /** How long the closing of one day may take. */
  readonly closingTimeoutMs: number;
  /** Number of batch queues; each has two connections. All operations of an organization use the same queue. */
  readonly lanes: number;
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
  daysBudgetMs: 1_000,
  closeAfterDays: 3,
  closingTimeoutMs: 300_000,
  lanes: 1,
  reserveMaxWaitMs: 1_800,
  finishMaxWaitMs: 10_000,
  drainTimeoutMs: 10_000,
};
