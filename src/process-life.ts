/** How the long-running processes begin and end: signals, exit codes, what is printed of a failure. */
import { ConfigurationError } from './config/load-config';
import { DataDirectoryInUseError } from './embedded/services-file';
import { CatalogError } from './models/load-catalog';

/** Runs a program to its end and ends the process with it: 0, or 1 and the reason on standard error. */
export function runProcess(program: (stopSignal: Promise<string>) => Promise<void>): void {
  program(waitForStopSignal()).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${describeFailure(error)}\n`);
      process.exit(1);
    },
  );
}

function waitForStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(signal));
  });
}

/** What the operator has to change needs no stack. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const ours = [ConfigurationError, CatalogError, DataDirectoryInUseError].some((kind) => error instanceof kind);
  // A port that is taken, a server that cannot be reached: the system's own words say it.
  return ours || 'syscall' in error ? error.message : (error.stack ?? error.message);
}
