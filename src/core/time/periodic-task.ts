export interface PeriodicTaskOptions {
  readonly run: () => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Pause between the end of a run and the beginning of the next. */
  readonly pauseMs: (hasFailed: boolean) => number;
}

/**
 * Runs a task periodically, never concurrently, without keeping the process alive. Use it for leases, which are renewed
 * until the requests of the process have ended; other periodic work is scheduled (`core/scheduling`).
 */
export class PeriodicTask {
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<void> = Promise.resolve();
  private stopped = true;

  constructor(private readonly options: PeriodicTaskOptions) {}

  /** Runs immediately; resolves when the first run has ended, with or without success. */
  start(): Promise<void> {
    this.stopped = false;
    this.current = this.runOnce();
    return this.current;
  }

  /** Resolves when no run is in progress. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.current;
  }

  private async runOnce(): Promise<void> {
    let hasFailed = false;
    try {
      await this.options.run();
    } catch (error) {
      hasFailed = true;
      this.options.onError(error);
    }
    if (!this.stopped) {
      this.timer = setTimeout(() => {
        this.current = this.runOnce();
      }, this.options.pauseMs(hasFailed)).unref();
    }
  }
}
