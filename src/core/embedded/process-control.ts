import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedServerError } from './embedded-server-error';

const POLL_MS = 20;

/** What a child process sends first, once it is ready. @throws EmbeddedServerError when it exits before */
export function firstMessage<Message>(child: ChildProcess, failure: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message));
    child.once('exit', (code, signal) => {
      reject(new EmbeddedServerError(`${failure} (${signal ?? `exit code ${code}`})`));
    });
  });
}

/** A signal, and how long to wait for its effect, in milliseconds. */
export type EndStep = readonly [NodeJS.Signals, number];

/**
 * The start time of a process in the system's notation, or `null` when none has this id. Together with the id it
 * identifies a process uniquely; ids alone are reused.
 */
export function processStartMark(pid: number): string | null {
  if (existsSync('/proc/self/stat')) {
    return linuxStartMark(pid);
  }
  return processStatus(pid, 'lstart=');
}

/** The command line of a process, or `null` when none has this id. */
export function processCommand(pid: number): string | null {
  if (existsSync('/proc/self/stat')) {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null;
    } catch {
      return null;
    }
  }
  return processStatus(pid, 'command=');
}

export function isRunning(pid: number): boolean {
  return processStartMark(pid) !== null;
}

/** Sends the signals one after another, each after the timeout of the previous one, until the process has ended. */
export async function endProcess(pid: number, steps: readonly EndStep[]): Promise<void> {
  for (const [signal, waitMs] of steps) {
    sendSignal(pid, signal);
    for (let waitedMs = 0; waitedMs < waitMs; waitedMs += POLL_MS) {
      if (!isRunning(pid)) {
        return;
      }
      await delay(POLL_MS);
    }
  }
  if (isRunning(pid)) {
    throw new Error(`Process ${pid} does not end`);
  }
}

/** Sends a signal; a process that has already ended is not an error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (isRunning(pid)) {
      throw error;
    }
  }
}

function linuxStartMark(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): the second field is the name in parentheses and may contain any text, so count from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    return state === 'Z' || state === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

function processStatus(pid: number, column: string): string | null {
  try {
    return execFileSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}
