import { spawnSync } from 'node:child_process';

/** These tests run only where the program is installed; elsewhere the report names them as skipped. */
export function describeWith(program: string, tests: () => void): void {
  // Only a missing program is an error; one that does not know the option is there.
  const { error } = spawnSync(program, ['--version'], { stdio: 'ignore' });
  (error === undefined ? describe : describe.skip)(`with ${program}`, tests);
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
