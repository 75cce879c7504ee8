import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { logFailure } from '../../core/scheduling/scheduling.module';
import { MediaJobRepository } from '../media-job.repository';
import { JobRunner } from './job-runner';

/** Between two rounds. Polls are up to this late, and those of a round share their statements. */
const ROUND_MS = 250;
/** After a round that began no poll, unless one of this process is due earlier. */
const IDLE_MS = 1_000;

/**
 * Polls the jobs that providers have accepted, in rounds: the due ones are found, claimed and recorded by one statement
 * each. The times are in the rows, so rounds need no Redis, and those of several processes share the jobs.
 */
@Injectable()
export class PollRounds {
  private readonly logger = new Logger(PollRounds.name);
  private readonly stopping = new AbortController();
  private nextRoundAtMs = -Infinity;

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly runner: JobRunner,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  start(): void {
    void this.repeat();
  }

  /** Polls under way go on. */
  stop(): void {
    this.stopping.abort();
  }

  /** A poll will be due in `inMs`. */
  expect(inMs: number): void {
    this.nextRoundAtMs = Math.min(this.nextRoundAtMs, this.clock.monotonic() + inMs);
  }

  /** Begins the polls that are due and have a slot. Returns their number. */
  async round(): Promise<number> {
    const limit = this.runner.free('providers');
    if (limit === 0) return 0;
    const due = await this.jobs.findDuePolls(limit, this.runner.fullLanes('providers'));
    const begun = this.runner.beginAll(due);
    for (const step of begun) void step.then((next) => next !== null && this.expect(next.inMs));
    return begun.length;
  }

  private async repeat(): Promise<void> {
    const { signal } = this.stopping;
    const failure = { event: 'job_sweep_failed', message: 'failed to sweep due polls' };
    while (!signal.aborted) {
      if (this.clock.monotonic() >= this.nextRoundAtMs) {
        this.nextRoundAtMs = this.clock.monotonic() + IDLE_MS;
        await logFailure(this.logger, failure, async () => {
          if ((await this.round()) > 0) this.expect(ROUND_MS);
        });
      }
      await delay(ROUND_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
