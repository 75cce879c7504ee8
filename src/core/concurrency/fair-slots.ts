import { FairConcurrencyLimiter } from './fair-concurrency-limiter';

interface Waiter {
  readonly ownerId: string;
  readonly admit: () => void;
}

/**
 * Limits the concurrent work of a process. Work waits for a slot that its owner may take: an owner holds at most half
 * of the slots, two owners at most two thirds, and so on, so that slow work of one owner does not stop the others.
 */
export class FairSlots {
  private readonly limiter: FairConcurrencyLimiter;
  /** In order of arrival. None of the waiting owners may take a slot now. */
  private readonly waiters = new Set<Waiter>();

  constructor(limit: number) {
    this.limiter = new FairConcurrencyLimiter(limit);
  }

  /**
   * Takes a slot as soon as the owner may; the caller must {@link leave}.
   * @throws the reason of the signal, without a slot, when it aborts first
   */
  async enter(ownerId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.limiter.enter(ownerId)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { ownerId, admit: resolve };
    const onAbort = (): void => {
      // Only while it waits: once admitted, it holds a slot, which the caller returns.
      if (this.waiters.delete(waiter)) reject(signal.reason as Error);
    };
    this.waiters.add(waiter);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  leave(ownerId: string): void {
    this.limiter.leave(ownerId);
    for (const waiter of this.waiters) {
      // Takes the slot for the waiter before its code runs, so that no later caller can overtake it.
      if (!this.limiter.enter(waiter.ownerId)) continue;
      this.waiters.delete(waiter);
      waiter.admit();
    }
  }
}
