/** Start and end of the long-running processes: signals, exit codes, error output. */
import { setFlagsFromString } from 'node:v8';
import { describeFailure } from './describe-failure';

/**
 * Once many objects of a hot call site survive, as they do while requests are slow, V8 allocates all later ones in old
 * space, where each keeps its whole finished request in memory until the next full collection. Measured on a busy
 * machine: young collections kept 8 MiB and paused for 60 ms instead of 1 to 2 MiB and 20 ms, in three of nine
 * processes.
 */
const NO_PRETENURING = '--no-allocation-site-pretenuring';

/** Runs a program, then exits: with 0, or with 1 and the reason on standard error. */
export function runProcess(program: (stopSignal: Promise<string>) => Promise<void>): void {
  setFlagsFromString(NO_PRETENURING);
  program(waitForStopSignal()).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${describeFailure(error)}\n`);
      process.exit(1);
    },
  );
}

/** Under npm, one Ctrl-C in a terminal arrives twice, because npm forwards it to its child. */
const SAME_SIGNAL_MS = 500;

/** Resolves with the first signal. A second one ends the process at once: the operator does not want to wait. */
function waitForStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAtMs: number | null = null;
    const receive = (signal: string): void => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(1);
      resolve(signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, receive);
  });
}
