import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { GatewayError } from '../common/errors/gateway-error';
import { PacedWriter } from './paced-writer';
import type { StreamReply } from './stream-reply';

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
export class SseReply implements StreamReply {
  readonly contentType = EVENT_STREAM;
  private readonly response: ServerResponse;
  private readonly writer: PacedWriter;
  private pingTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly reply: FastifyReply,
    /** Asked when the head goes out: by then it is known who answers. */
    private readonly headers: () => Readonly<Record<string, string>>,
    /** How the format tells a failure in mid-stream, as events. */
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
    return this.writer.write(frames);
  }

  drained(): Promise<void> {
    return this.writer.drained();
  }

  /** The last events, and the end. */
  finish(frames: string): void {
    this.abandon();
    this.writer.end(frames + DONE);
  }

  fail(failure: GatewayError): void {
    this.finish(this.failureEvents(failure));
  }

  /** Stops the timer of a stream whose client has left. */
  abandon(): void {
    if (this.pingTimer !== null) clearTimeout(this.pingTimer);
  }

  private ping(): void {
    this.write(PING);
  }
}
