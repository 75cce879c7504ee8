import { spawnSync } from 'node:child_process';

/** A test with this name runs only where the program is installed; elsewhere the report names it as skipped. */
export function itWith(program: string): typeof it {
  // Every program prints something for a command that it does not know; only a missing one is an error.
  const { error } = spawnSync(program, ['--version'], { stdio: 'ignore' });
  return error === undefined ? it : (it.skip as typeof it);
}

/** Runs a program to its end and returns its output. @throws Error with the output, when it fails. */
export function runProgram(program: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}
