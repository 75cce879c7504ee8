import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { FairQueue } from '../concurrency/fair-queue';

/** Idle time before a process ends. */
const IDLE_MS = 10_000;
const MAX_HEAP_MIB = 128;

/** Bytes of the task's file from `start` to before `end`; fewer at its end. */
export type ReadRange = (start: number, end: number) => Promise<Uint8Array>;

/** From the gateway to a process: a task, then the ranges that it asked for. `null`: the range could not be read. */
export type ToMediaProcess = { readonly task: unknown } | { readonly range: number; readonly bytes: Uint8Array | null };

/**
 * From a process to the gateway: ranges that it needs, then the outcome of the task. `null`: the file is not readable.
 */
export type FromMediaProcess =
  { readonly range: number; readonly start: number; readonly end: number } | { readonly outcome: unknown };

/** `null`: the file is not readable. */
interface Task<Outcome> {
  /** `null` once it is withdrawn: the queue may hold the task for some time, but not its file. */
  content: unknown;
  readonly readRange: ReadRange | undefined;
  readonly done: (outcome: Outcome | null) => void;
  readonly fail: (error: Error) => void;
  isWaiting: boolean;
}

export interface RunOptions {
  /** Reads ranges of the file, for a task that does not contain it. */
  readonly readRange?: ReadRange;
  /** Withdraws the task, unless a process has begun with it. */
  readonly signal?: AbortSignal;
}

/** The tasks of one owner. */
interface Load<Outcome> {
  /** Queued or running. */
  active: number;
  readonly backlog: Set<Task<Outcome>>;
}

/**
 * Reads containers in child processes: a hostile file costs one of them a few seconds and does not affect the gateway.
 * Worker threads would not be enough, because V8 aborts the whole process for many allocations that exceed the heap of
 * one thread. Processes start on demand and end when idle.
 */
export class MediaProcesses<Outcome> {
  private readonly idle: MediaProcess<Outcome>[] = [];
  private readonly waiting = new FairQueue<Task<Outcome>>();
  private readonly loads = new Map<string, Load<Outcome>>();
  private processes = 0;

  /** @param program a module of this folder that calls `serveTasks` */
  constructor(
    private readonly program: string,
    private readonly timeoutMs: number,
    private readonly maxProcesses: number,
  ) {}

  /**
   * Returns `null` when the file is not readable within the time and memory limits of a process. If a process dies that
   * has served other files, one of them may have broken it, so the current file is read again in a new process.
   * @param ownerId the owner of the file: one owner's files leave a process for others, and owners alternate. `null`:
   *   no owner, in call order.
   * @throws the reason of the signal when the task is withdrawn
   */
  async run(content: unknown, ownerId: string | null, { readRange, signal }: RunOptions = {}): Promise<Outcome | null> {
    signal?.throwIfAborted();
    const queue = ownerId ?? '';
    const maxActive = ownerId === null ? this.maxProcesses : Math.max(1, this.maxProcesses - 1);
    const load = this.loads.get(queue) ?? { active: 0, backlog: new Set() };
    this.loads.set(queue, load);
    const { promise, resolve: done, reject: fail } = Promise.withResolvers<Outcome | null>();
    const task: Task<Outcome> = { content, readRange, done, fail, isWaiting: true };
    const onAbort = (): void => withdraw(task, signal?.reason as Error);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (load.active === maxActive) {
      load.backlog.add(task);
    } else {
      load.active++;
      this.waiting.push(task, queue);
      this.startNext();
    }
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      if (!load.backlog.delete(task)) this.endActive(load, queue);
    }
  }

  private endActive(load: Load<Outcome>, queue: string): void {
    const [next] = load.backlog;
    if (next !== undefined) {
      load.backlog.delete(next);
      this.waiting.push(next, queue);
    } else if (--load.active === 0) {
      this.loads.delete(queue);
    }
    this.startNext();
  }

  /** Ends idle processes. */
  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map((process) => process.end()));
  }

  private startNext(): void {
    if (this.idle.length === 0 && this.processes === this.maxProcesses) return;
    let task = this.waiting.shift();
    while (task?.isWaiting === false) task = this.waiting.shift();
    if (task === undefined) return;
    task.isWaiting = false;
    (this.idle.pop() ?? this.start()).startTask(task);
  }

  private start(): MediaProcess<Outcome> {
    const started = new MediaProcess<Outcome>(require.resolve(this.program), this.timeoutMs, {
      free: (process) => {
        this.idle.push(process);
        this.startNext();
      },
      unused: (process) => {
        this.idle.splice(this.idle.indexOf(process), 1);
        void process.end();
      },
      ended: (process, unread) => {
        this.processes--;
        // It may also die after its reply.
        if (this.idle.includes(process)) this.idle.splice(this.idle.indexOf(process), 1);
        if (unread === null) this.startNext();
        else this.start().startTask(unread);
      },
    });
    this.processes++;
    return started;
  }
}

function withdraw<Outcome>(task: Task<Outcome>, reason: Error): void {
  if (!task.isWaiting) return;
  task.isWaiting = false;
  task.content = null;
  task.fail(reason);
}

interface Pool<Outcome> {
  /** Called when the file is finished. */
  readonly free: (process: MediaProcess<Outcome>) => void;
  /** Called after the idle time. */
  readonly unused: (process: MediaProcess<Outcome>) => void;
  /** Called once. `unread`: a task for another process, because an earlier file may have ended this one. */
  readonly ended: (process: MediaProcess<Outcome>, unread: Task<Outcome> | null) => void;
}

/** One process, one file at a time. */
class MediaProcess<Outcome> {
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;
  private task: Task<Outcome> | null = null;
  private timer: NodeJS.Timeout | undefined;
  private hasReplied = false;
  private isKilled = false;

  constructor(
    program: string,
    private readonly timeoutMs: number,
    private readonly pool: Pool<Outcome>,
  ) {
    this.child = fork(program, {
      execArgv: [...process.execArgv, `--max-old-space-size=${MAX_HEAP_MIB}`],
      // No secrets, no output, and no signals of a terminal.
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: true,
      serialization: 'advanced',
    });
    this.child.on('message', (message: FromMediaProcess) => void this.receive(message));
    this.child.on('error', (error) => this.finish((task) => task.fail(error)));
    this.ended = once(this.child, 'close').catch(() => undefined);
    void this.ended.then(() => {
      const unread = this.hasReplied && !this.isKilled ? this.task : null;
      if (unread !== null) this.task = null;
      const { exitCode, signalCode } = this.child;
      // A signal ends it when a file takes too much memory or time, or crashes it. A code means that the program cannot
      // start.
      if (signalCode !== null) this.finish((task) => task.done(null));
      else this.finish((task) => task.fail(new Error(`a media process ended with code ${exitCode}`)));
      this.pool.ended(this, unread);
    });
  }

  startTask(task: Task<Outcome>): void {
    this.task = task;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.kill(), this.timeoutMs);
    this.child.ref();
    this.child.channel?.ref();
    this.send({ task: task.content });
  }

  async end(): Promise<void> {
    this.kill();
    await this.ended;
  }

  private kill(): void {
    clearTimeout(this.timer);
    this.isKilled = true;
    this.child.kill('SIGKILL');
  }

  private async receive(message: FromMediaProcess): Promise<void> {
    if ('outcome' in message) {
      this.finish((task) => task.done(message.outcome as Outcome | null));
      // The reply came after the time limit: the next task would start in a process that is being killed.
      if (this.isKilled) return;
      this.hasReplied = true;
      this.child.unref();
      this.child.channel?.unref();
      this.timer = setTimeout(() => this.pool.unused(this), IDLE_MS).unref();
      this.pool.free(this);
      return;
    }
    const { range, start, end } = message;
    const bytes = await this.task?.readRange?.(start, end).catch(() => null);
    this.send({ range, bytes: bytes ?? null });
  }

  /** Sends nothing to a process that has ended, because its task is finished. */
  private send(message: ToMediaProcess): void {
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  private finish(report: (task: Task<Outcome>) => void): void {
    clearTimeout(this.timer);
    const { task } = this;
    this.task = null;
    if (task !== null) report(task);
  }
}
