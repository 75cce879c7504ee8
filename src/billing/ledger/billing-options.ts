/** Intervals and wait limits of the ledger. The lease's 20 seconds and the sweeper's 10 are in the SQL functions. */
export interface BillingOptions {
  readonly heartbeatIntervalMs: number;
  /** From the end of an audit to the next one, at least. */
  readonly auditIntervalMs: number;
  /** How long an audit may take. */
  readonly auditTimeoutMs: number;
  /** Time of each audit for verifying single days; it verifies at least one closed and one open day. */
  readonly daysBudgetMs: number;
  /**
   * Whole UTC days between a day and its closing. A day with a hold, such as that of a long job, stays open until it
   * ends. At least 3: ids of the last two days are not looked up among the closed days.
   */
  readonly closeAfterDays: number;
  /** How long the closing of one day may take. */
  readonly closingTimeoutMs: number;
  /** Queues of batches; each has two connections. An organization always uses the same one. */
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
