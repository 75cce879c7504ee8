/** Weight of the newest sample: some ten calls decide. */
const NEWEST_WEIGHT = 0.2;
/** What nobody has measured for so long may have changed, and is measured again. */
const LIFETIME_MS = 300_000;

/** A moving average of samples, forgotten when it is old. */
export class Estimate {
  private value = 0;
  private expiresAtMs = -Infinity;

  add(sample: number, nowMs: number): void {
    const known = nowMs < this.expiresAtMs;
    this.value = known ? this.value + NEWEST_WEIGHT * (sample - this.value) : sample;
    this.expiresAtMs = nowMs + LIFETIME_MS;
  }

  /** `null`: not known, or not any more. */
  at(nowMs: number): number | null {
    return nowMs < this.expiresAtMs ? this.value : null;
  }
}

/** How fast a deployment has answered this process lately. */
export class DeploymentSpeed {
  /** Milliseconds from the request to the first event of a stream. */
  readonly firstTokenMs = new Estimate();
  /** Milliseconds from the request to the end of an answer that is not streamed. */
  readonly replyMs = new Estimate();
  /** UTF-8 bytes of output per second of writing: of one model the same as tokens, up to a factor. */
  readonly bytesPerSecond = new Estimate();
}
