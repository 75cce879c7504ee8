import { Worker } from 'node:worker_threads';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { FairQueue } from '../concurrency/fair-queue';
import { GatewayError } from '../errors/gateway-error';

/** Measures recordings and writes the measured packets to a file for providers. */
@Injectable()
export class AudioProbe implements OnModuleDestroy {
  private readonly threads = new ProbeThreads();

  /**
   * Reads mp3 (mpga, mpeg), mp4, m4a, mov, webm, mkv, ogg, wav, flac and aac, regardless of file names, and writes the
   * counted packets to a new file: m4a for AAC-LC and ALAC, ogg for Opus and Vorbis, wav for PCM, A-law and mu-law, and
   * bare frames for MPEG audio and FLAC. It contains nothing else of the upload.
   * @param ownerId the organization that owns the file: a single one never occupies all threads.
   * @throws GatewayError `validation_failed` with `param` when the file has no audio of these codings, is damaged or
   *   ambiguous, takes more than 15 seconds of work, or is longer than a day.
   */
  async probe(bytes: Buffer, param: string, ownerId: string): Promise<ProbedAudio> {
    const outcome = await this.threads.probe(bytes, ownerId);
    if (outcome !== null) return outcome;
    const message = `${param} must be one recording: flac, mp3, mp4, mpeg, mpga, m4a, mov, ogg, wav, webm, mkv or aac.`;
    throw new GatewayError('validation_failed', message, { param });
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }
}

/** The inspected properties of a provider's file. */
export interface ProbedArtifact {
  readonly type: 'video' | 'audio';
  /** Of its container, for example `video/mp4`. */
  readonly contentType: string;
  /** Displayed pixels; `null` for audio. */
  readonly width: number | null;
  readonly height: number | null;
  /** More than 0, at most a day. */
  readonly durationSeconds: number;
}

/** Request to the reader thread: a file descriptor of this process, open until the reply. */
export interface ArtifactProbeTask {
  readonly descriptor: number;
  readonly sizeBytes: number;
}

/** Enough for the longest file on a busy machine. */
const ARTIFACT_TIMEOUT_MS = 20_000;

/** Inspects the files of providers: their type is detected from their bytes, not from headers. */
@Injectable()
export class ArtifactProbe implements OnModuleDestroy {
  private readonly threads = new ProbeThreads<ProbedArtifact>(ARTIFACT_TIMEOUT_MS, './artifact-worker');

  /**
   * Reads video in mp4, mov and webm, and audio in mp3, wav, flac, ogg, m4a and aac. `null`: the file is none of them,
   * damaged, longer than a day, or cannot be read in 20 seconds.
   */
  probe({ descriptor, sizeBytes }: ArtifactProbeTask): Promise<ProbedArtifact | null> {
    return this.threads.runMessage({ descriptor, sizeBytes } satisfies ArtifactProbeTask);
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }
}

/** Maximum time of a file in a thread; the thread itself stops after 15 seconds of work if it can. */
const PROBE_TIMEOUT_MS = 30_000;
const MAX_THREADS = 2;
/** One organization's long recordings leave a thread for others. */
const MAX_THREADS_PER_OWNER = MAX_THREADS - 1;
/** Idle time before a thread ends. */
const IDLE_MS = 10_000;
const MAX_HEAP_MIB = 128;

/** A rewritten audio file that contains only the measured audio. */
export interface ProbedAudio {
  /** Decoded duration of `bytes` in seconds; more than 0, at most a day. */
  readonly durationSeconds: number;
  /** Of its container, for example `audio/mpeg`. */
  readonly contentType: string;
  /** File extension of the container, without a dot. */
  readonly extension: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Request to the thread that measures recordings: one file. */
export interface AudioProbeTask {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The worker program for client files; tests may replace it by one with the same protocol. */
const AUDIO_WORKER = './audio-worker';

/** Builds the message to a thread. Called when a thread is free, so that waiting tasks take no memory. */
interface Message {
  readonly content: unknown;
  readonly transfer: readonly ArrayBuffer[];
}

/** A task is one message to a thread and its reply; `null`: the file is not readable. */
interface Task<Outcome> {
  readonly toMessage: () => Message;
  readonly done: (outcome: Outcome | null) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Reads containers in worker threads: a hostile file costs a few seconds of a thread and does not affect the process.
 * Threads start on demand and do not keep the process alive while idle.
 */
export class ProbeThreads<Outcome = ProbedAudio> {
  private readonly idle: ProbeThread<Outcome>[] = [];
  private readonly waiting = new FairQueue<Task<Outcome>>();
  /** Per owner: queued or running tasks, and the backlog behind them. */
  private readonly loads = new Map<string, { active: number; readonly backlog: Task<Outcome>[] }>();
  private threads = 0;

  /** @param program a module of this folder */
  constructor(
    private readonly timeoutMs = PROBE_TIMEOUT_MS,
    private readonly program = AUDIO_WORKER,
    private readonly maxThreads = MAX_THREADS,
  ) {}

  /**
   * `null`: the file is not readable within the time and memory limits of a thread.
   * @param ownerId the owner of the file: files of one owner are read in sequence, owners alternate.
   * @param options what the program needs besides the file.
   */
  probe(bytes: Buffer, ownerId: string, options: object = {}): Promise<Outcome | null> {
    return this.enqueue(
      () => {
        // A copy, because the file is a view whose whole underlying buffer would be sent to the thread.
        const copy = new Uint8Array(bytes);
        return { content: { ...options, bytes: copy } satisfies AudioProbeTask, transfer: [copy.buffer] };
      },
      ownerId,
      MAX_THREADS_PER_OWNER,
    );
  }

  /** The same for any message of the program, in call order. */
  runMessage(message: unknown): Promise<Outcome | null> {
    return this.enqueue(() => ({ content: message, transfer: [] }), '', MAX_THREADS);
  }

  /** Ends idle threads. */
  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map((thread) => thread.end()));
  }

  private enqueue(toMessage: () => Message, ownerId: string, maxActive: number): Promise<Outcome | null> {
    const load = this.loads.get(ownerId) ?? { active: 0, backlog: [] };
    this.loads.set(ownerId, load);
    return new Promise<Outcome | null>((done, fail) => {
      const task = { toMessage, done, fail };
      if (load.active === maxActive) {
        load.backlog.push(task);
        return;
      }
      load.active++;
      this.waiting.push(task, ownerId);
      this.startNext();
    }).finally(() => {
      const next = load.backlog.shift();
      if (next !== undefined) this.waiting.push(next, ownerId);
      else if (--load.active === 0) this.loads.delete(ownerId);
      this.startNext();
    });
  }

  private startNext(): void {
    if (this.idle.length === 0 && this.threads === this.maxThreads) return;
    const task = this.waiting.shift();
    if (task !== undefined) (this.idle.pop() ?? this.start()).startTask(task);
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
        // It may also die after its reply.
        if (this.idle.includes(thread)) this.idle.splice(this.idle.indexOf(thread), 1);
        this.startNext();
      },
    });
  }
}

interface Pool<Outcome> {
  /** Called when the file is finished. */
  readonly free: (thread: ProbeThread<Outcome>) => void;
  /** Called after the idle time. */
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
      // Running out of memory means an unreadable file; a missing worker program is an error for every file.
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') this.finish((task) => task.fail(error));
    });
    this.worker.on('exit', () => {
      this.finish((task) => task.done(null));
      pool.ended(this);
    });
  }

  startTask(task: Task<Outcome>): void {
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
