/** Limits of what is kept for replays. */
export interface IdempotencyOptions {
  /** Longest answer that is stored. */
  readonly maxAnswerBytes: number;
  /** Stored at the same time for one organization. */
  readonly maxOrganizationBytes: number;
  /** Collected at the same time in this process, of streams under way. */
  readonly maxRecordingBytes: number;
  readonly sweepIntervalMs: number;
}

export const IDEMPOTENCY_OPTIONS = Symbol('IdempotencyOptions');

const MEBIBYTE = 1_048_576;

export const DEFAULT_IDEMPOTENCY_OPTIONS: IdempotencyOptions = {
  maxAnswerBytes: 32 * MEBIBYTE,
  maxOrganizationBytes: 1_024 * MEBIBYTE,
  maxRecordingBytes: 256 * MEBIBYTE,
  sweepIntervalMs: 600_000,
};
