/** The waiting queue is full. */
export class SemaphoreFullError extends Error {
  override readonly name = 'SemaphoreFullError';
}

/** Runs at most `slots` tasks at once; at most `maxWaiting` more wait in order. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  constructor(
    private slots: number,
    private readonly maxWaiting = Infinity,
  ) {}

  /** @throws SemaphoreFullError immediately when the waiting queue is full. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.slots > 0) this.slots--;
    else await this.queue();
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // The slot passes directly to the next waiter, so that new work cannot overtake the queue.
      if (next === undefined) this.slots++;
      else next();
    }
  }

  private queue(): Promise<void> {
    if (this.waiting.length >= this.maxWaiting) throw new SemaphoreFullError('the waiting queue is full');
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
