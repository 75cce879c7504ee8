/** Weight of the newest sample: roughly the last ten calls count. */
const NEWEST_WEIGHT = 0.2;
/** Older estimates expire and are measured again. */
const LIFETIME_MS = 300_000;

/** A moving average of samples that expires. */
export class Estimate {
  private value = 0;
  private expiresAtMs = -Infinity;

  add(sample: number, nowMs: number): void {
    const known = nowMs < this.expiresAtMs;
    this.value = known ? this.value + NEWEST_WEIGHT * (sample - this.value) : sample;
    this.expiresAtMs = nowMs + LIFETIME_MS;
  }

  /** `null`: unknown or expired. */
  at(nowMs: number): number | null {
    return nowMs < this.expiresAtMs ? this.value : null;
  }
}

/** The recent speed of a deployment in this process. */
export class DeploymentSpeed {
  /** Milliseconds from the request to the first event of a stream. */
  readonly firstTokenMs = new Estimate();
  /** Milliseconds from the request to the end of a response that is not streamed. */
  readonly replyMs = new Estimate();
  /** UTF-8 bytes of output per second of writing, which is proportional to tokens for a given model. */
  readonly bytesPerSecond = new Estimate();
}
