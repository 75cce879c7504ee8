/**
 * A hint that a row at a given version has work. It may arrive late, twice or never: the receiver reads the row and
 * ignores it when the version differs.
 */
export interface WakeUp {
  readonly id: string;
  readonly version: number;
  /** Work that may block each other shares a lane; other lanes proceed independently. */
  readonly lane: string;
}

/** The queued form of a wake-up: only its id. */
export interface WakeUpPayload {
  readonly jobId: string;
  readonly gen: number;
  readonly lane: string;
}

/** All queues have the same name; deployments differ in their prefix. */
export const QUEUE_NAME = 'wake-ups';
