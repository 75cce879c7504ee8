/** Storage limits for replays. */
export interface IdempotencyOptions {
  /** Largest response that is stored. */
  readonly maxResponseBytes: number;
  /** Total stored per organization. */
  readonly maxOrganizationBytes: number;
  /** Total recorded from streams in flight in this process. */
  readonly maxRecordingBytes: number;
}

export const IDEMPOTENCY_OPTIONS = Symbol('IdempotencyOptions');

const MEBIBYTE = 1_048_576;

export const DEFAULT_IDEMPOTENCY_OPTIONS: IdempotencyOptions = {
  maxResponseBytes: 32 * MEBIBYTE,
  maxOrganizationBytes: 1_024 * MEBIBYTE,
  maxRecordingBytes: 256 * MEBIBYTE,
};
