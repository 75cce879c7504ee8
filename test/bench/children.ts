/**
 * Registry of all processes that the bench starts: `stopAll` ends them in reverse order of starting, and an exit
 * handler kills the rest, so that none outlives the bench.
 */
import { fork, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ServerReady } from '#bench/child-server';
import type { LoadJob, LoadResult } from '#bench/load';

const STOP_TIMEOUT_MS = 15_000;
const started: { readonly child: ChildProcess; readonly stopSignal: NodeJS.Signals }[] = [];

process.on('exit', () => {
  for (const { child } of started) if (isRunning(child)) child.kill('SIGKILL');
});

let stopping: Promise<void> | null = null;

/** Idempotent: every caller waits for the same shutdown, and no process can be started afterwards. */
export function stopAll(): Promise<void> {
  stopping ??= stopInReverse();
  return stopping;
}

async function stopInReverse(): Promise<void> {
  for (const { child, stopSignal } of started.toReversed()) {
    if (!isRunning(child)) continue;
    const ended = once(child, 'exit');
    child.kill(stopSignal);
    const killer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(killer);
  }
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
  readonly options?: Pick<SpawnOptions, 'env' | 'cwd' | 'uid' | 'gid'>;
}

/**
 * Starts a server program with its output in a file, in a separate process group, so that Ctrl-C reaches only the
 * bench.
 */
export function startProgram(program: Program): ChildProcess & { readonly pid: number } {
  const log = openSync(program.logFile, 'a');
  const child = spawn(program.command, program.args, {
    ...program.options,
    detached: true,
    stdio: ['ignore', log, log],
  });
  if (child.pid === undefined) throw new Error(`${program.command} could not be started`);
  register(child, program.stopSignal);
  return Object.assign(child, { pid: child.pid });
}

export function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Starts one of the server scripts of this folder; resolves once it accepts connections. */
export async function startServerScript(
  file: string,
  args: readonly string[],
): Promise<{ pid: number; origin: string }> {
  const child = forkScript(file, args);
  const [ready] = (await firstOf(child, 'message')) as [ServerReady];
  return { pid: Number(child.pid), origin: `http://127.0.0.1:${ready.port}` };
}

/** The load generator: `run` takes one job at a time. */
export function startLoadGenerator(): { readonly pid: number; run(job: LoadJob): Promise<LoadResult> } {
  const child = forkScript('load.ts', []);
  return {
    pid: Number(child.pid),
    async run(job) {
      child.send(job);
      const [result] = (await firstOf(child, 'message')) as [LoadResult];
      return result;
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

function forkScript(file: string, args: readonly string[]): ChildProcess {
  const child = fork(join(import.meta.dirname, file), args);
  register(child, 'SIGTERM');
  return child;
}

function register(child: ChildProcess, stopSignal: NodeJS.Signals): void {
  if (stopping !== null) {
    child.kill('SIGKILL');
    throw new Error('the bench is stopping');
  }
  started.push({ child, stopSignal });
}

async function firstOf(child: ChildProcess, event: string): Promise<unknown[]> {
  const listening = new AbortController();
  const ended = once(child, 'exit', { signal: listening.signal }).then(([code]) => {
    throw new Error(`${child.spawnargs.at(-1) ?? 'a child process'} ended with ${String(code)}`);
  });
  try {
    return await Promise.race([once(child, event, { signal: listening.signal }), ended]);
  } finally {
    listening.abort();
    ended.catch(() => undefined);
  }
}
