/** Runs the tests at the sizes of the design; without it they are short enough for a developer. */
export const FULL = process.env.FAULTS_FULL === '1';

/** Prints the measurements: the purpose of these tests. */
export function report(subject: string, figures: object): void {
  process.stderr.write(`${subject}: ${JSON.stringify(figures)}\n`);
}

/** How long a busy machine can stall a process. */
const LONGEST_STALL_MS = 30_000;

/**
 * The time limit for a figure of the design: the figure in the full form, which has the machine to itself; in the short
 * form long enough that only a hang exceeds it.
 */
export function allowedMs(figureMs: number): number {
  return FULL ? figureMs : Math.max(10 * figureMs, LONGEST_STALL_MS);
}

/** The minimum timeout of the short form. */
const PATIENCE_MS = 60_000;

/**
 * Polls until the condition is true: events in other processes cannot be awaited here. Resolves with the elapsed
 * milliseconds, which in the short form can exceed `withinMs`.
 */
export async function until(what: string, withinMs: number, isSo: () => Promise<boolean> | boolean): Promise<number> {
  const startedAtMs = performance.now();
  const limitMs = FULL ? withinMs : Math.max(withinMs, PATIENCE_MS);
  for (;;) {
    if (await isSo()) return performance.now() - startedAtMs;
    if (performance.now() - startedAtMs > limitMs) throw new Error(`${what} did not happen within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The quantile `share`, such as 0.99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
