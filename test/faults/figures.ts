/** The tests at the sizes that the design asks for; without it they are as long as a developer can wait. */
export const FULL = process.env.FAULTS_FULL === '1';

/** Prints what was measured: the figures are the point of these tests. */
export function report(subject: string, figures: object): void {
  process.stderr.write(`${subject}: ${JSON.stringify(figures)}\n`);
}

/** What a process may have to wait for its share of a machine that is busy with other tests. */
const LONGEST_STALL_MS = 30_000;

/**
 * How long something may take that the design has a figure for: that figure in the full form, which has the machine to
 * itself; in the short one so much that only what hangs takes longer.
 */
export function allowedMs(figureMs: number): number {
  return FULL ? figureMs : Math.max(10 * figureMs, LONGEST_STALL_MS);
}

/** In the short form nothing is given up sooner. */
const PATIENCE_MS = 60_000;

/**
 * Asks again until the answer is yes: what happens in other processes raises no event here. Resolves with the milliseconds
 * that it took, which in the short form can be more than `withinMs`.
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

/** The value below which `share` of them lie, such as 0.99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
