import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/** As built: a process that compiles what it runs takes twice as long. */
const MAIN = resolve(__dirname, '../../../dist/src/cli/main.js');

export interface CliRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cli {
  /** Runs one command in a process of its own, as an operator does. */
  run(...commandLine: string[]): Promise<CliRun>;
  /** The same with something on standard input. */
  runWith(input: string, ...commandLine: string[]): Promise<CliRun>;
  /** Runs a command that must succeed with `--json`, and parses all of standard output. */
  json<Document>(...commandLine: string[]): Promise<Document>;
  close(): void;
}

/** The command line with an environment of its own: nothing of the developer's settings gets in. */
export function createCli(environment: Record<string, string>): Cli {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-cli-'));
  const runWith = async (input: string, ...commandLine: string[]): Promise<CliRun> => {
    const child = spawn(process.execPath, [MAIN, ...commandLine], {
      cwd: directory,
      env: { PATH: process.env.PATH, NODE_ENV: 'test', DATA_DIR: directory, ...environment },
      stdio: 'pipe',
    });
    // A command that reads nothing may be over before it is written.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const [stdout, stderr, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { exitCode, stdout, stderr };
  };
  const run = (...commandLine: string[]): Promise<CliRun> => runWith('', ...commandLine);
  return {
    run,
    runWith,
    async json<Document>(...commandLine: string[]): Promise<Document> {
      const { exitCode, stdout, stderr } = await run(...commandLine, '--json');
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      return JSON.parse(stdout) as Document;
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}
