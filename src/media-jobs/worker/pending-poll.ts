import type { JobSnapshot } from '../../providers/contract/media-job';

/** Exactly one of the two fields is set. */
export interface PollAnswer {
  readonly snapshot?: JobSnapshot;
  readonly error?: unknown;
}

/** A poll that is in progress or has been answered. It may begin without a claim to its job and end with one. */
export class PendingPoll {
  private readonly stopping = new AbortController();
  /** Never rejects. */
  private readonly answer: Promise<PollAnswer>;

  /** @param ask rejects soon after its signal has aborted */
  constructor(stopRequested: AbortSignal, ask: (signal: AbortSignal) => Promise<JobSnapshot>) {
    this.answer = this.run(stopRequested, ask);
  }

  /** `null`: there is no answer yet. */
  async answerWithin(timeoutMs: number): Promise<PollAnswer | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, null);
    });
    const answer = await Promise.race([this.answer, late]);
    clearTimeout(timer);
    return answer;
  }

  /** The answer, or an error when `signal` aborts first. */
  async answerUnless(signal: AbortSignal): Promise<PollAnswer> {
    const stop = (): void => this.stop(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await this.answer;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  stop(reason: unknown): void {
    this.stopping.abort(reason);
  }

  private async run(
    stopRequested: AbortSignal,
    ask: (signal: AbortSignal) => Promise<JobSnapshot>,
  ): Promise<PollAnswer> {
    const stop = (): void => this.stop(stopRequested.reason);
    if (stopRequested.aborted) stop();
    stopRequested.addEventListener('abort', stop, { once: true });
    try {
      return { snapshot: await ask(this.stopping.signal) };
    } catch (error) {
      return { error };
    } finally {
      stopRequested.removeEventListener('abort', stop);
    }
  }
}
