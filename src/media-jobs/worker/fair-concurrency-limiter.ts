/**
 * Limits the concurrent steps of a process. A lane may take a slot only while more slots are free than it holds: one
 * hanging lane leaves half of the slots free, two leave a third, and so on.
 */
export class FairConcurrencyLimiter {
  private readonly inLane = new Map<string, number>();
  private used = 0;

  constructor(private readonly limit: number) {}

  get free(): number {
    return this.limit - this.used;
  }

  /** `false`: the lane already holds its share, and no slot was taken. */
  enter(lane: string): boolean {
    const count = this.inLane.get(lane) ?? 0;
    if (count >= this.free) return false;
    this.inLane.set(lane, count + 1);
    this.used++;
    return true;
  }

  leave(lane: string): void {
    const count = this.inLane.get(lane) ?? 0;
    if (count > 1) this.inLane.set(lane, count - 1);
    else this.inLane.delete(lane);
    this.used--;
  }

  /** Lanes that cannot take another slot now. */
  fullLanes(): string[] {
    return [...this.inLane].flatMap(([lane, count]) => (count >= this.free ? [lane] : []));
  }
}
