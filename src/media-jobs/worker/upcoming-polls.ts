import type { Clock } from '../../core/time/clock';
import type { DuePoll } from '../media-job.types';

/** How many polls are remembered. The oldest are forgotten first, such as those that another process has made. */
const MAX_REMEMBERED = 10_000;

/**
 * The next polls of the jobs that this process has submitted or polled, so that it need not read their rows first. A
 * poll applies to one version: if the row has changed since, the poll has no effect.
 */
export class UpcomingPolls {
  private readonly polls = new Map<string, { readonly due: DuePoll; readonly atMs: number }>();

  constructor(private readonly clock: Clock) {}

  note(due: DuePoll, inMs: number): void {
    this.polls.delete(due.id);
    this.polls.set(due.id, { due, atMs: this.clock.monotonic() + inMs });
    const [oldest] = this.polls.keys();
    if (this.polls.size > MAX_REMEMBERED && oldest !== undefined) this.polls.delete(oldest);
  }

  /** Returns the poll of a job once, if it is due. `null`: read the row to find out what is due. */
  take(id: string): DuePoll | null {
    const poll = this.polls.get(id);
    if (poll === undefined || this.clock.monotonic() < poll.atMs) return null;
    this.polls.delete(id);
    return poll.due;
  }
}
