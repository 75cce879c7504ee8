import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommandLine } from '../../../src/cli/run-command-line';

const MAIN = resolve(__dirname, '../../../dist/src/cli/main.js');

export interface CliRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cli {
  /** Runs one command. */
  run(...commandLine: string[]): Promise<CliRun>;
  /** The same with something on standard input. */
  runWith(input: string, ...commandLine: string[]): Promise<CliRun>;
  /** Runs a command that must succeed with `--json`, and parses all of standard output. */
  json<Document>(...commandLine: string[]): Promise<Document>;
  close(): void;
}

type Execute = (input: string, commandLine: readonly string[], environment: NodeJS.ProcessEnv) => Promise<CliRun>;

/** The command line in this process, with a separate environment: a process per command takes a second of CPU. */
export const createCli = (environment: Record<string, string>): Cli => createWith(queued(executeHere), environment);

/** The built command line in a process per command, as operators run it. */
export const createBuiltCli = (environment: Record<string, string>): Cli => createWith(executeBuilt, environment);

function createWith(execute: Execute, environment: Record<string, string>): Cli {
  // Outside the project, whose `.env` is the developer's.
  const directory = mkdtempSync(join(tmpdir(), 'gateway-cli-'));
  const settings = { PATH: process.env.PATH, NODE_ENV: 'test', DATA_DIR: directory, ...environment, PWD: directory };
  const runWith = (input: string, ...commandLine: string[]): Promise<CliRun> => execute(input, commandLine, settings);
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

async function executeBuilt(
  input: string,
  commandLine: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<CliRun> {
  const child = spawn(process.execPath, [MAIN, ...commandLine], {
    cwd: environment.PWD,
    env: environment,
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
}

/** The built command line, whose standard output is closed before it writes. */
export async function runUnread(
  environment: Record<string, string>,
  ...commandLine: string[]
): Promise<Pick<CliRun, 'exitCode' | 'stderr'>> {
  const child = spawn(process.execPath, [MAIN, ...commandLine], {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH, NODE_ENV: 'test', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [stderr, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>]);
  return { exitCode, stderr };
}

/** Replaces the globals of the process that a command uses. */
async function executeHere(
  input: string,
  commandLine: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<CliRun> {
  const own = { env: process.env, exitCode: process.exitCode, directory: process.cwd() };
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((chunk) => {
      output[name] += String(chunk);
      return true;
    }),
  );
  try {
    process.env = { ...environment };
    process.exitCode = 0;
    process.chdir(environment.PWD as string);
    Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([Buffer.from(input)]) });
    await runCommandLine(commandLine);
    return { exitCode: Number(process.exitCode), ...output };
  } finally {
    for (const spy of spies) spy.mockRestore();
    Object.defineProperty(process, 'stdin', stdin);
    process.chdir(own.directory);
    process.env = own.env;
    process.exitCode = own.exitCode;
  }
}

/** One command at a time. */
let last: Promise<unknown> = Promise.resolve();
function queued(execute: Execute): Execute {
  return (...parameters) => {
    const run = last.then(() => execute(...parameters));
    last = run.catch(() => undefined);
    return run;
  };
}
