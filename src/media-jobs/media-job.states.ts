/**
 * The states of a job and every way from one to another (contract, section 3), as data: whoever ends a job takes
 * from here the states that it may be found in.
 */

export const JOB_STATUSES = ['queued', 'submitted', 'running', 'succeeded', 'failed', 'canceled', 'expired'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export const FINAL_STATUSES = ['succeeded', 'failed', 'canceled', 'expired'] as const satisfies readonly JobStatus[];
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/** What becomes of the reservation. */
export type HoldEnd = 'settled' | 'released' | 'expired';
export type JobEvent = 'job.completed' | 'job.failed';

export interface Transition {
  readonly trigger: 'submission' | 'sent' | 'begun' | 'finished' | 'failure' | 'cancellation' | 'expiry' | 'deletion';
  /** Empty: there was no job before. */
  readonly from: readonly JobStatus[];
  /** `null`: there is no job any more. */
  readonly to: JobStatus | null;
  readonly hold?: 'reserved' | HoldEnd;
  /** Told to the `webhook_url`, if there is one. */
  readonly event?: JobEvent;
}

const UNDER_WAY = ['queued', 'submitted', 'running'] as const;

export const TRANSITIONS: readonly Transition[] = [
  { trigger: 'submission', from: [], to: 'queued', hold: 'reserved' },
  { trigger: 'sent', from: ['queued'], to: 'submitted' },
  { trigger: 'begun', from: ['submitted'], to: 'running' },
  { trigger: 'finished', from: ['running'], to: 'succeeded', hold: 'settled', event: 'job.completed' },
  { trigger: 'failure', from: UNDER_WAY, to: 'failed', hold: 'released', event: 'job.failed' },
  { trigger: 'cancellation', from: UNDER_WAY, to: 'canceled', hold: 'released' },
  { trigger: 'expiry', from: UNDER_WAY, to: 'expired', hold: 'expired' },
  { trigger: 'deletion', from: FINAL_STATUSES, to: null },
];

/** The states that lead to this one. */
export function statesBefore(status: JobStatus): JobStatus[] {
  return TRANSITIONS.flatMap(({ from, to }) => (to === status ? from : []));
}

export function isFinal(status: JobStatus): status is FinalStatus {
  return (FINAL_STATUSES as readonly JobStatus[]).includes(status);
}
