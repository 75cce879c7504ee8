interface Waiter {
  readonly lane: string;
  readonly wake: () => void;
}

/**
 * Limits the concurrent work of a process. A lane may take a slot only while more slots are free than it holds: one
 * hanging lane leaves half of the slots free, two leave a third, and so on.
 */
export class FairConcurrencyLimiter {
  private readonly inLane = new Map<string, number>();
  /** In order of arrival. */
  private readonly waiters = new Set<Waiter>();
  private used = 0;

  constructor(private readonly limit: number) {}

  get free(): number {
    return this.limit - this.used;
  }

  /** Takes a slot; `false`, without a slot, when the lane already holds its share. */
  enter(lane: string): boolean {
    if (this.isFull(lane)) return false;
    this.inLane.set(lane, (this.inLane.get(lane) ?? 0) + 1);
    this.used++;
    return true;
  }

  /**
   * Resolves when the lane may take a slot, at the latest after `timeoutMs`; the caller then tries to enter. At most
   * as many calls wait as there are slots; further ones resolve at once.
   */
  async waitForSlot(lane: string, timeoutMs: number): Promise<void> {
    if (!this.isFull(lane) || this.waiters.size >= this.limit) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { lane, wake: resolve };
    this.waiters.add(waiter);
    const timer = setTimeout(resolve, timeoutMs);
    await promise;
    clearTimeout(timer);
    this.waiters.delete(waiter);
  }

  /** Ends all waiting, for a shutdown. */
  wakeAll(): void {
    for (const waiter of this.waiters) waiter.wake();
  }

  leave(lane: string): void {
    const count = this.inLane.get(lane) ?? 0;
    if (count > 1) this.inLane.set(lane, count - 1);
    else this.inLane.delete(lane);
    this.used--;
    this.wakeNext();
  }

  /** Lanes that cannot take another slot now. */
  fullLanes(): string[] {
    return [...this.inLane.keys()].filter((lane) => this.isFull(lane));
  }

  private isFull(lane: string): boolean {
    return (this.inLane.get(lane) ?? 0) >= this.free;
  }

  /** One waiter for one freed slot. */
  private wakeNext(): void {
    for (const waiter of this.waiters) {
      if (this.isFull(waiter.lane)) continue;
      this.waiters.delete(waiter);
      waiter.wake();
      return;
    }
  }
}
