import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { GatewayError } from '../common/errors/gateway-error';
import type { StreamSink } from '../providers/contract/chat';

const PING = ': ping\n\n';
const DONE = 'data: [DONE]\n\n';

/**
 * The server-sent events of one answer: headers with the first event, a comment in every silence, back-pressure, one
 * `[DONE]` at the end, and a failure after the start as the envelope in an event (contract 6.3, decision *pings*).
 */
export class SseReply implements StreamSink {
  private readonly response: ServerResponse;
  private pingTimer: NodeJS.Timeout | null = null;
  private stallTimer: NodeJS.Timeout | null = null;
  private waiting: Promise<void> | null = null;

  constructor(
    private readonly reply: FastifyReply,
    private readonly headers: Readonly<Record<string, string>>,
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
      ...this.headers,
      'content-type': 'text/event-stream; charset=utf-8',
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

  /** The last events and the end. */
  finish(frames: string): void {
    this.end(frames + DONE);
  }

  /** Ends a stream that has begun by saying what went wrong: it must not look complete. */
  fail(error: GatewayError, requestId: string): void {
    this.end(`data: ${JSON.stringify(error.toEnvelope(requestId))}\n\n${DONE}`);
  }

  private end(frames: string): void {
    this.abandon();
    if (this.response.destroyed) return;
    this.startStallTimer();
    this.response.once('close', () => this.stopStallTimer()).end(frames);
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
