import { Worker } from 'node:worker_threads';
import { FairQueue } from '../common/fair-queue';
import type { ProbeTask, ProbedAudio } from './audio-probe.types';

/** How long a file may occupy a thread, which itself gives up after two seconds of work where it can. */
const PROBE_TIMEOUT_MS = 5_000;
const MAX_THREADS = 2;
/** How long a thread waits for another file. */
const IDLE_MS = 10_000;
const MAX_HEAP_MIB = 128;

/** The threads' program for files of clients; one with the same protocol may stand in for it. */
const AUDIO_WORKER = './audio-worker';

/** What a thread is sent. Made when its turn has come: until then it takes no memory. */
interface Message {
  readonly content: unknown;
  readonly transfer: readonly ArrayBuffer[];
}

/** One message to a thread is one task, and its answer is the outcome; `null`: the file is not what can be read. */
interface Task<Outcome> {
  readonly toMessage: () => Message;
  readonly done: (outcome: Outcome | null) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Containers are read in threads of their own: a file that is made to be endless or enormous takes a few seconds of such
 * a thread and nothing of the process. Threads are started when there are files, and keep no process alive without one.
 */
export class ProbeThreads<Outcome = ProbedAudio> {
  private readonly idle: ProbeThread<Outcome>[] = [];
  private readonly waiting = new FairQueue<Task<Outcome>>();
  private threads = 0;

  /** @param program a module of this folder */
  constructor(
    private readonly timeoutMs = PROBE_TIMEOUT_MS,
    private readonly program = AUDIO_WORKER,
  ) {}

  /**
   * `null`: the file is not what can be read, or not within the time and memory of a thread.
   * @param ownerId whose file it is: where several wait, their owners take turns, since one alone has many quickly.
   */
  probe(bytes: Buffer, ownerId: string): Promise<Outcome | null> {
    return this.enqueue(() => {
      // A copy, since the file is a view: with that, all that lies around it would be sent to the thread.
      const copy = new Uint8Array(bytes);
      return { content: { bytes: copy } satisfies ProbeTask, transfer: [copy.buffer] };
    }, ownerId);
  }

  /** The same for whatever message the program takes, in the order of the calls. */
  run(message: unknown): Promise<Outcome | null> {
    return this.enqueue(() => ({ content: message, transfer: [] }), '');
  }

  /** Ends the threads that have nothing to do. */
  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map((thread) => thread.end()));
  }

  private enqueue(toMessage: () => Message, ownerId: string): Promise<Outcome | null> {
    return new Promise((done, fail) => {
      this.waiting.push({ toMessage, done, fail }, ownerId);
      this.startNext();
    });
  }

  private startNext(): void {
    if (this.idle.length === 0 && this.threads === MAX_THREADS) return;
    const task = this.waiting.shift();
    if (task !== undefined) (this.idle.pop() ?? this.start()).run(task);
  }

  private start(): ProbeThread<Outcome> {
    this.threads++;
    return new ProbeThread<Outcome>(require.resolve(this.program), this.timeoutMs, {
      free: (thread) => {
        this.idle.push(thread);
        this.startNext();
      },
      unused: (thread) => {
        this.idle.splice(this.idle.indexOf(thread), 1);
        void thread.end();
      },
      ended: (thread) => {
        this.threads--;
        // It may also die of what it had answered already.
        if (this.idle.includes(thread)) this.idle.splice(this.idle.indexOf(thread), 1);
        this.startNext();
      },
    });
  }
}

interface Pool<Outcome> {
  /** It has finished its file. */
  readonly free: (thread: ProbeThread<Outcome>) => void;
  /** It has had no file for a while. */
  readonly unused: (thread: ProbeThread<Outcome>) => void;
  readonly ended: (thread: ProbeThread<Outcome>) => void;
}

/** One thread, one file at a time. */
class ProbeThread<Outcome> {
  private readonly worker: Worker;
  private task: Task<Outcome> | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    program: string,
    private readonly timeoutMs: number,
    pool: Pool<Outcome>,
  ) {
    this.worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB } });
    this.worker.on('message', (outcome: Outcome | null) => {
      this.finish((task) => task.done(outcome));
      this.worker.unref();
      this.timer = setTimeout(() => pool.unused(this), IDLE_MS).unref();
      pool.free(this);
    });
    this.worker.on('error', (error: Error & { code?: string }) => {
      // A file that takes all memory is one that cannot be read; without the worker itself none can.
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') this.finish((task) => task.fail(error));
    });
    this.worker.on('exit', () => {
      this.finish((task) => task.done(null));
      pool.ended(this);
    });
  }

  run(task: Task<Outcome>): void {
    this.task = task;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.end(), this.timeoutMs);
    this.worker.ref();
    const { content, transfer } = task.toMessage();
    this.worker.postMessage(content, transfer);
  }

  async end(): Promise<void> {
    clearTimeout(this.timer);
    await this.worker.terminate();
  }

  private finish(report: (task: Task<Outcome>) => void): void {
    clearTimeout(this.timer);
    const { task } = this;
    this.task = null;
    if (task !== null) report(task);
  }
}
