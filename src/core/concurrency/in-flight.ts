/** Counts work in flight, so that a shutdown can wait for it. */
export class InFlight {
  private count = 0;
  private onIdle: (() => void) | null = null;

  get size(): number {
    return this.count;
  }

  begin(): void {
    this.count++;
  }

  end(): void {
    this.count--;
    if (this.count === 0) this.onIdle?.();
  }

  /** Resolves with `true` as soon as nothing is in flight, with `false` after `timeoutMs`. For one caller at a time. */
  whenIdle(timeoutMs: number): Promise<boolean> {
    if (this.count === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.onIdle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
