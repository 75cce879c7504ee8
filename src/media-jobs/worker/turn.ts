import type { DueJob, JobWakeUp, MediaJob } from '../media-job.types';

/** What the turn after this one is, and when. `null`: there is none, or it is somebody else's. */
export type NextTurn = { readonly due: DueJob; readonly inMs: number } | null;

/** A worker's time with a job: from the claim until the lease is given back, or lost. */
export interface Turn {
  readonly job: MediaJob;
  /** The job has ended or belongs to another worker: whatever is done for it is in vain. */
  readonly lost: AbortSignal;
  /** That, or the process is being stopped: what can be done again elsewhere is left. */
  readonly given: AbortSignal;
}

/** Which of the jobs that wait may hold each other up: those of one deployment. */
export function laneOf({ deploymentId, route }: Pick<MediaJob, 'deploymentId' | 'route'>): string {
  return deploymentId ?? route[0] ?? '';
}

export function nextTurn(wakeUp: JobWakeUp | null, inMs: number, lane: string): NextTurn {
  return wakeUp === null ? null : { due: { ...wakeUp, lane }, inMs };
}
