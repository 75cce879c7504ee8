/**
 * How many jobs a process works on at once. A lane may take a place while more are free than it has: whatever one
 * provider does to its calls, half of the places are left by its lane, a third by two such lanes together, and so on, so
 * that there is always a place for those who wait for nobody.
 */
export class TurnSlots {
  private readonly inLane = new Map<string, number>();
  private used = 0;

  constructor(private readonly limit: number) {}

  get free(): number {
    return this.limit - this.used;
  }

  /** `false`: the lane has its share already, and nothing was taken. */
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

  /** Lanes that would not be let in. */
  fullLanes(): string[] {
    return [...this.inLane].flatMap(([lane, count]) => (count >= this.free ? [lane] : []));
  }
}
