/** Number of recent samples per operation. */
const WINDOW = 63;
/** With fewer samples the default applies. */
const ENOUGH = 5;

const FIRST_GUESS_SECONDS: Readonly<Record<string, number>> = { createImage: 5, createImageEdit: 5 };
const DEFAULT_GUESS_SECONDS = 2;
const MAX_SECONDS = 30;

interface Latencies {
  readonly latestMs: Float64Array;
  count: number;
}

/** Tracks the latency of each operation in this process, for the `retry_after` of duplicate requests. */
export class OperationLatency {
  private readonly operations = new Map<string, Latencies>();

  record(operation: string, durationMs: number): void {
    let known = this.operations.get(operation);
    if (known === undefined) {
      known = { latestMs: new Float64Array(WINDOW), count: 0 };
      this.operations.set(operation, known);
    }
    known.latestMs[known.count++ % WINDOW] = durationMs;
  }

  /** The median of the recent samples in whole seconds, 1 to 30. */
  medianSeconds(operation: string): number {
    const known = this.operations.get(operation);
    if (known === undefined || known.count < ENOUGH) return FIRST_GUESS_SECONDS[operation] ?? DEFAULT_GUESS_SECONDS;
    const sorted = known.latestMs.subarray(0, Math.min(known.count, WINDOW)).toSorted();
    const medianMs = sorted[sorted.length >> 1] as number;
    return Math.min(Math.max(Math.ceil(medianMs / 1000), 1), MAX_SECONDS);
  }
}
