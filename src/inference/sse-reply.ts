import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { StreamSink } from '../providers/contract/chat';

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const PING = ': ping\n\n';
/** The end of every stream. */
export const DONE = 'data: [DONE]\n\n';

/** An event that is a JSON value. */
export function eventOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/**
 * The server-sent events of one answer: headers with the first event, a comment in every silence, back-pressure, and one
 * `[DONE]` at the end (decision *pings*).
 */
export class SseReply implements StreamSink {
  private readonly response: ServerResponse;
  private pingTimer: NodeJS.Timeout | null = null;
  private stallTimer: NodeJS.Timeout | null = null;
  private waiting: Promise<void> | null = null;

  constructor(
    private readonly reply: FastifyReply,
    /** Asked when the head goes out: by then it is known who answers. */
    private readonly headers: () => Readonly<Record<string, string>>,
    private readonly pingMs: number,
    private readonly stallMs: number,
  ) {
    this.response = reply.raw;
  }

  get started(): boolean {
    return this.pingTimer !== null;
  }

  /** Sends the head. From here on a failure can only be told inside the stream. */
  start(): void {
    if (this.started) return;
    this.reply.hijack();
    this.response.writeHead(200, {
      ...this.headers(),
      'content-type': EVENT_STREAM,
      'cache-control': 'no-cache, no-transform',
      // Asks proxies of the nginx family not to collect the stream before they pass it on.
      'x-accel-buffering': 'no',
    });
    this.pingTimer = setTimeout(() => this.ping(), this.pingMs);
  }

  /** Starts before there is anything to say, so that the client and its proxies see that somebody is working. */
  startSilently(): void {
    if (this.started || this.response.destroyed) return;
    this.start();
    this.ping();
  }

  write(frames: string | Buffer): boolean {
    if (this.response.destroyed) return true;
    this.pingTimer?.refresh();
    return this.response.write(frames);
  }

  drained(): Promise<void> {
    if (!this.response.writableNeedDrain || this.response.destroyed) return Promise.resolve();
    this.waiting ??= new Promise((resolve) => {
      const finish = (): void => {
        this.response.off('drain', finish).off('close', finish);
        this.stopStallTimer();
        this.waiting = null;
        resolve();
      };
      this.response.on('drain', finish).on('close', finish);
      this.startStallTimer();
    });
    return this.waiting;
  }

  /** The last events, be they of an answer or of a failure, and the end. */
  finish(frames: string): void {
    this.abandon();
    if (this.response.destroyed) return;
    this.startStallTimer();
    this.response.once('close', () => this.stopStallTimer()).end(frames + DONE);
  }

  /** A client that takes nothing for so long is gone, whatever its connection says. */
  private startStallTimer(): void {
    this.stopStallTimer();
    this.stallTimer = setTimeout(() => this.response.destroy(), this.stallMs);
  }

  private stopStallTimer(): void {
    if (this.stallTimer !== null) clearTimeout(this.stallTimer);
    this.stallTimer = null;
  }

  /** Stops the timer of a stream whose client has left. */
  abandon(): void {
    if (this.pingTimer !== null) clearTimeout(this.pingTimer);
  }

  private ping(): void {
    this.write(PING);
  }
}
