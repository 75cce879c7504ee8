/** As many wait as may. */
export class SemaphoreFullError extends Error {
  override readonly name = 'SemaphoreFullError';
}

/** Runs at most `slots` pieces of work at once; the next `maxWaiting` wait in order, and no more than those. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  constructor(
    private slots: number,
    private readonly maxWaiting = Infinity,
  ) {}

  /** @throws SemaphoreFullError at once, when too many wait already. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.slots > 0) this.slots--;
    else await this.queue();
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // The slot goes from hand to hand: whoever comes meanwhile cannot overtake those who wait.
      if (next === undefined) this.slots++;
      else next();
    }
  }

  private queue(): Promise<void> {
    if (this.waiting.length >= this.maxWaiting) throw new SemaphoreFullError('too many wait already');
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
