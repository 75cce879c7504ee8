/**
 * Servers that tests start and kill. None outlives the test run: `endChildren` ends those of a test, and a guard
 * process ends those of an interrupted run.
 */
import { type ChildProcess, fork, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>;
  /** Its stop signal. */
  readonly stopSignal: NodeJS.Signals;
}

/**
 * Logged by a process that exits during startup because a busy machine delayed its database. The caller starts it
 * again.
 */
export const DATABASE_WAS_LATE = /due to connection timeout|timeout exceeded when trying to connect|timeout expired/;

/** A third of the CPU that Node takes to start the gateway is for compiling modules that have not changed. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: resolve(__dirname, '../../node_modules/.cache/node-compile') };

const STOP_WITHIN_MS = 60_000;
const running = new Set<ManagedChild>();
let guard: ChildProcess | undefined;

/** One run of a program. */
export class ManagedChild {
  readonly pid: number;
  readonly exited: Promise<ExitStatus>;
  private readonly process: ChildProcess;
  private written = '';

  constructor(private readonly program: Program) {
    const { command, args, options } = program;
    this.process = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    if (this.process.pid === undefined) throw new Error(`${command} could not be started`);
    this.pid = this.process.pid;
    running.add(this);
    notifyGuard(this.pid, program.stopSignal);
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.written += text));
    }
    // `close` comes after the last output, `exit` may come before it.
    this.exited = once(this.process, 'close').then((ending) => {
      running.delete(this);
      notifyGuard(this.pid, null);
      const [code, signal] = ending as [number | null, NodeJS.Signals | null];
      return { code, signal };
    });
  }

  /** All output so far, standard output and standard error combined. */
  get output(): string {
    return this.written;
  }

  get hasExited(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  /** `kill -9`. Resolves when the process is gone. */
  kill(): Promise<ExitStatus> {
    return this.end('SIGKILL');
  }

  /** Suspends the process until it is resumed. */
  suspend(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** Resolves with its exit. @throws Error with its output when it takes longer than `withinMs`. */
  async end(signal = this.program.stopSignal, withinMs = STOP_WITHIN_MS): Promise<ExitStatus> {
    this.process.kill(signal);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${signal} did not end it:\n${this.written}`)), withinMs);
    });
    try {
      return await Promise.race([this.exited, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Stops all processes that the tests of this file have not stopped; for `afterEach` and `afterAll`. */
export async function endChildren(): Promise<void> {
  await Promise.all([...running].map((child) => child.end().catch(() => child.kill())));
  guard?.disconnect();
  guard = undefined;
}

/** A currently free port of 127.0.0.1. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

function notifyGuard(pid: number, stopSignal: NodeJS.Signals | null): void {
  if (guard === undefined) {
    // Detached, so that Ctrl-C in a terminal does not end the guard together with the runner.
    guard = fork(join(__dirname, 'child-guard.js'), { detached: true, execArgv: [], stdio: 'ignore' });
    guard.unref();
    guard.channel?.unref();
  }
  guard.send({ pid, stopSignal });
}
