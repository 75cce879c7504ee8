import type { DueJob, JobWakeUp, MediaJob } from '../media-job.types';

/** The next step and its delay. `null`: the job has ended or belongs to another worker. */
export type NextStep = { readonly due: DueJob; readonly inMs: number } | null;

/** A claimed job, until its lease is released or lost. */
export interface JobLease {
  readonly job: MediaJob;
  /** Aborted when the job has ended or belongs to another worker: further work has no effect. */
  readonly leaseLost: AbortSignal;
  /** Also aborted when the process shuts down: work that another process can repeat should stop. */
  readonly stopRequested: AbortSignal;
}

export function nextStep(wakeUp: JobWakeUp | null, inMs: number, lane: string): NextStep {
  return wakeUp === null ? null : { due: { ...wakeUp, lane }, inMs };
}
