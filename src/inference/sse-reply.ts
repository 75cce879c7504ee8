import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { GatewayError } from '../core/errors/gateway-error';
import { PacedWriter } from './paced-writer';
import type { StreamReply } from './stream-reply';

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const PING = ': ping\n\n';
/** Last event of every stream. */
export const DONE = 'data: [DONE]\n\n';

/** An event with a JSON value as data. */
export function eventOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/**
 * The server-sent events of one response: headers with the first event, pings during silence, back-pressure, and one
 * `[DONE]` at the end (decision *pings*).
 */
export class SseReply implements StreamReply {
  readonly contentType = EVENT_STREAM;
  private readonly response: ServerResponse;
  private readonly writer: PacedWriter;
  private pingTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly reply: FastifyReply,
    /** Called when the headers are sent: by then the serving model is known. */
    private readonly headers: () => Readonly<Record<string, string>>,
    /** The events that report a failure in mid-stream. */
    private readonly failureEvents: (failure: GatewayError) => string,
    private readonly pingMs: number,
    stallMs: number,
  ) {
    this.response = reply.raw;
    this.writer = new PacedWriter(reply.raw, stallMs);
  }

  get started(): boolean {
    return this.pingTimer !== null;
  }

  /** Sends the headers. From here on a failure can only be reported inside the stream. */
  start(): void {
    if (this.started) return;
    this.reply.hijack();
    this.response.writeHead(200, {
      ...this.headers(),
      'content-type': EVENT_STREAM,
      'cache-control': 'no-cache, no-transform',
      // Disables response buffering in nginx.
      'x-accel-buffering': 'no',
    });
    this.pingTimer = setTimeout(() => this.ping(), this.pingMs);
  }

  /** Sends the headers and a ping before the first event, so that client and proxies do not time out. */
  startSilently(): void {
    if (this.started || this.response.destroyed) return;
    this.start();
    this.ping();
  }

  write(frames: string | Buffer): boolean {
    if (this.response.destroyed) return true;
    this.pingTimer?.refresh();
    return this.writer.write(frames);
  }

  drained(): Promise<void> {
    return this.writer.drained();
  }

  /** Sends the last events and ends the stream. */
  finish(frames: string): void {
    this.abandon();
    this.writer.end(frames + DONE);
  }

  fail(failure: GatewayError): void {
    this.finish(this.failureEvents(failure));
  }

  /** Stops the ping timer, also after a disconnect. */
  abandon(): void {
    if (this.pingTimer !== null) clearTimeout(this.pingTimer);
  }

  private ping(): void {
    this.write(PING);
  }
}
