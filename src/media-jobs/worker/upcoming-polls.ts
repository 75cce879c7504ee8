import type { Clock } from '../../core/time/clock';
import { laneOf } from '../job-lane';
import type { DueJob, MediaJob } from '../media-job.types';
import type { NextStep } from './job-lease';

/** Polls that are remembered; the oldest are forgotten first, such as those that another process has made. */
const MAX_REMEMBERED = 10_000;

/**
 * The next polls of the jobs that this process has polled, so that it can claim them without reading their rows first.
 * A claim is for one version: a poll whose row has changed since claims nothing.
 */
export class UpcomingPolls {
  private readonly polls = new Map<string, { readonly due: DueJob; readonly atMs: number }>();

  constructor(private readonly clock: Clock) {}

  /** @param job as it was claimed for the poll that has ended */
  note(job: MediaJob, { inMs, version }: NonNullable<NextStep>): void {
    const due = { organizationId: job.organizationId, id: job.id, version, lane: laneOf(job) };
    this.polls.delete(job.id);
    this.polls.set(job.id, { due, atMs: this.clock.monotonic() + inMs });
    const [oldest] = this.polls.keys();
    if (this.polls.size > MAX_REMEMBERED && oldest !== undefined) this.polls.delete(oldest);
  }

  /** The poll of a job, once, if it is due. `null`: the row says what is due. */
  take(id: string): DueJob | null {
    const poll = this.polls.get(id);
    if (poll === undefined || this.clock.monotonic() < poll.atMs) return null;
    this.polls.delete(id);
    return poll.due;
  }
}
