/** The tests at the sizes that the design asks for; without it they are as long as a developer can wait. */
export const FULL = process.env.FAULTS_FULL === '1';

/** Prints what was measured: the figures are the point of these tests. */
export function report(subject: string, figures: object): void {
  process.stderr.write(`${subject}: ${JSON.stringify(figures)}\n`);
}

/** Asks again until the answer is yes: what happens in other processes raises no event here. */
export async function until(what: string, withinMs: number, isSo: () => Promise<boolean> | boolean): Promise<number> {
  const startedAtMs = performance.now();
  for (;;) {
    if (await isSo()) return performance.now() - startedAtMs;
    if (performance.now() - startedAtMs > withinMs) throw new Error(`${what} did not happen within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
