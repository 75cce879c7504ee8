/**
 * The job states and their transitions, as data. Code that ends a job takes the allowed source states from here.
 */
import type { JobEvent } from '../webhooks/webhook.types';

export const JOB_STATUSES = ['queued', 'submitted', 'running', 'succeeded', 'failed', 'canceled', 'expired'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export const FINAL_STATUSES = ['succeeded', 'failed', 'canceled', 'expired'] as const satisfies readonly JobStatus[];
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/** How the reservation ends. */
export type HoldEnd = 'settled' | 'released' | 'expired';

export interface Transition {
  readonly trigger: 'submission' | 'sent' | 'begun' | 'finished' | 'failure' | 'cancellation' | 'expiry' | 'deletion';
  /** Empty: the job does not exist yet. */
  readonly from: readonly JobStatus[];
  /** `null`: the job no longer exists. */
  readonly to: JobStatus | null;
  readonly hold?: 'reserved' | HoldEnd;
  /** Sent to the `webhook_url`, if set. */
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

/** The source states of all transitions to `status`. */
export function statesBefore(status: JobStatus): JobStatus[] {
  return TRANSITIONS.flatMap(({ from, to }) => (to === status ? from : []));
}

export function isFinal(status: JobStatus): status is FinalStatus {
  return (FINAL_STATUSES as readonly JobStatus[]).includes(status);
}
