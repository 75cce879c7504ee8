import type { Agent, Dispatcher } from 'undici';
import type { LoadJob } from '#bench/load';
import { requestBody, STREAM_EVENTS } from '#bench/wire';

/** The outcome of one request. Instants are those of `performance.now()`. */
export interface Exchange {
  readonly firstByteMs: number;
  readonly endMs: number;
  /** Why the reply does not count, or `null` when it is complete and correct. */
  readonly problem: string | null;
}

const BODIES = { plain: requestBody(false), stream: requestBody(true) };
const END_OF_STREAM = 'data: [DONE]\n\n';
/** Enough for the last chunk with its usage, and for a whole non-streamed reply. */
const TAIL_BYTES = 2048;
const LINE_FEED = 10;

/** Sends one request and reads its reply to the end. Never rejects. */
export function exchange(agent: Agent, job: LoadJob): Promise<Exchange> {
  return new Promise((resolve) => {
    agent.dispatch(
      {
        origin: job.origin,
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { 'content-type': 'application/json', ...job.headers },
        body: job.stream ? BODIES.stream : BODIES.plain,
      },
      new ReplyReader(job, resolve),
    );
  });
}

/** Reads a reply cheaply: counts events and keeps only the tail. */
class ReplyReader implements Dispatcher.DispatchHandler {
  private readonly job: LoadJob;
  private readonly done: (result: Exchange) => void;
  private status = 0;
  private firstByteMs = 0;
  private events = 0;
  private lastByte = 0;
  private tail: Buffer = Buffer.alloc(0);

  constructor(job: LoadJob, done: (result: Exchange) => void) {
    this.job = job;
    this.done = done;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    this.status = statusCode;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.firstByteMs === 0) this.firstByteMs = performance.now();
    if (this.job.stream) this.countEvents(chunk);
    const joined = chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([this.tail, chunk]);
    this.tail = joined.length > TAIL_BYTES ? joined.subarray(joined.length - TAIL_BYTES) : joined;
  }

  onResponseEnd(): void {
    this.finish(this.judge());
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.finish(`${error.name}: ${error.message}`);
  }

  private countEvents(chunk: Buffer): void {
    if (this.lastByte === LINE_FEED && chunk[0] === LINE_FEED) this.events += 1;
    for (let at = chunk.indexOf('\n\n'); at !== -1; at = chunk.indexOf('\n\n', at + 2)) this.events += 1;
    this.lastByte = chunk[chunk.length - 1] ?? this.lastByte;
  }

  private judge(): string | null {
    const text = this.tail.toString('utf8');
    if (this.status !== 200) return `status ${this.status}: ${text.slice(0, 300)}`;
    if (!text.includes(this.job.expectedText)) return `no ${this.job.expectedText} in: ${text.slice(-300)}`;
    if (!this.job.stream) return null;
    if (!text.endsWith(END_OF_STREAM)) return `stream without its end: ${text.slice(-100)}`;
    if (this.events < STREAM_EVENTS.length) return `${this.events} events of ${STREAM_EVENTS.length}`;
    return null;
  }

  private finish(problem: string | null): void {
    this.done({ firstByteMs: this.firstByteMs, endMs: performance.now(), problem });
  }
}
