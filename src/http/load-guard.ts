const SAMPLE_EVERY_MS = 100;
/** Of the time: a process that is that busy finishes nothing sooner by beginning more. */
const BUSY = 0.98;
/** A burst may keep the process busy for so long before that counts as overload. */
const PATIENCE_MS = 1_000;
/** How long an overload is expected to come back. */
const ALERT_MS = 5_000;

/**
 * Knows when this process has more to do than it can: its event loop is never idle for a second, with more requests in
 * flight than it takes to keep it busy. From then on it takes a new request only when another has ended: whoever comes
 * is better told so at once than kept waiting with everybody else. How many are in flight says nothing by itself: a
 * thousand may be waiting for providers.
 */
export class LoadGuard {
  private busySinceMs: number | null = null;
  private alertUntilMs = Number.NEGATIVE_INFINITY;
  private isAlert = false;
  private timer: NodeJS.Timeout | null = null;

  /**
   * @param limit of requests in flight during an overload; 0: there is no overload.
   * @param inFlight how many requests are being answered.
   */
  constructor(
    private readonly limit: number,
    private readonly inFlight: () => number,
    private readonly monotonic: () => number,
  ) {}

  /** Whether a new request should be turned away. */
  get overloaded(): boolean {
    return this.isAlert && this.inFlight() > this.limit;
  }

  start(): void {
    if (this.limit === 0) return;
    let last = performance.eventLoopUtilization();
    this.timer = setInterval(() => {
      const current = performance.eventLoopUtilization();
      this.observe(this.monotonic(), performance.eventLoopUtilization(current, last).utilization);
      last = current;
    }, SAMPLE_EVERY_MS).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** @param utilization share of the time since the last call in which the event loop had something to do. */
  observe(nowMs: number, utilization: number): void {
    if (utilization >= BUSY && this.inFlight() >= this.limit) {
      this.busySinceMs ??= nowMs;
      if (this.isAlert || nowMs - this.busySinceMs >= PATIENCE_MS) this.alertUntilMs = nowMs + ALERT_MS;
    } else {
      this.busySinceMs = null;
    }
    this.isAlert = nowMs < this.alertUntilMs;
  }
}
