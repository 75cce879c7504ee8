import type { Command } from 'commander';
import { createProgram } from './program';
import { reportFailure } from './report-failure';

/** Runs one command. A failure is reported, and sets the exit code of the process. */
export async function runCommandLine(words: readonly string[]): Promise<void> {
  let started: Command | undefined;
  const program = createProgram().hook('preAction', (_program, command) => {
    started = command;
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    process.exitCode = reportFailure(error, started);
  }
}
