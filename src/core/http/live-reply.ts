import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import type { GatewayError } from '../errors/gateway-error';
import { type ByteSink, DONE, EVENT_STREAM_TYPE, type LiveOutput } from './answer';

const PING = ': ping\n\n';

/** The first token may follow events that announce it, such as the role; until then, no event waits for others. */
const WRITES_BEFORE_MERGING = 4;
/** Pending events of more than this are written without waiting for others. */
const MAX_PENDING_BYTES = 16 * 1024;

/** The end of a byte response is held back until the charge is committed. Too short to cause a delay. */
const HELD_BACK_BYTES = 64;
const NO_BYTES = Buffer.alloc(0);

/** Called when the headers are sent. */
type HeadersOf = () => Readonly<Record<string, string>>;

/**
 * Writes with back-pressure. A client that reads nothing for `stallMs` is disconnected.
 *
 * Node performs the first write and the end. All writes in between go directly to the socket, as one buffer per chunk
 * of the body: Node would write four pieces per chunk, which costs 11 instead of 7 us of CPU.
 */
class PacedWriter implements ByteSink {
  private stallTimer: NodeJS.Timeout | null = null;
  private waiting: Promise<void> | null = null;
  private begun = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly stallMs: number,
  ) {}

  write(bytes: string | Buffer): boolean {
    const { response } = this;
    // An empty chunk would end the body.
    if (response.destroyed || bytes.length === 0) return true;
    const socket = this.begun ? directSocketOf(response) : null;
    this.begun = true;
    return socket === null ? response.write(bytes) : socket.write(toBodyChunk(bytes));
  }

  /** Whether the client has not read enough for more to be written. */
  get isFull(): boolean {
    return (directSocketOf(this.response) ?? this.response).writableNeedDrain;
  }

  drained(): Promise<void> {
    const { response } = this;
    if (!this.isFull || response.destroyed) return Promise.resolve();
    const stream = directSocketOf(response) ?? response;
    this.waiting ??= new Promise((resolve) => {
      const finish = (): void => {
        stream.off('drain', finish);
        response.off('close', finish);
        this.stopStallTimer();
        this.waiting = null;
        resolve();
      };
      stream.on('drain', finish);
      response.on('close', finish);
      this.startStallTimer();
    });
    return this.waiting;
  }

  /** Writes the last bytes and ends the response. */
  end(bytes: string | Buffer): void {
    if (this.response.destroyed) return;
    this.startStallTimer();
    this.response.once('close', () => this.stopStallTimer()).end(bytes);
  }

  private startStallTimer(): void {
    this.stopStallTimer();
    this.stallTimer = setTimeout(() => this.response.destroy(), this.stallMs);
  }

  private stopStallTimer(): void {
    if (this.stallTimer !== null) clearTimeout(this.stallTimer);
    this.stallTimer = null;
  }
}

/**
 * The socket, if chunks of the body may be written to it directly: not for a client without chunked encoding
 * (HTTP/1.0), nor while an earlier response of the connection is being sent (pipelining).
 */
function directSocketOf({ socket, chunkedEncoding }: ServerResponse): Socket | null {
  return chunkedEncoding && socket?.writable === true ? socket : null;
}

/** A chunk of a body in chunked encoding: https://www.rfc-editor.org/rfc/rfc9112#section-7.1 */
function toBodyChunk(bytes: string | Buffer): Buffer {
  const length = Buffer.byteLength(bytes);
  const head = `${length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(head.length + length + 2);
  chunk.write(head, 'latin1');
  if (typeof bytes === 'string') chunk.write(bytes, head.length);
  else bytes.copy(chunk, head.length);
  chunk.write('\r\n', head.length + length, 'latin1');
  return chunk;
}

export interface EventTiming {
  /** Silence after which a ping is sent. */
  readonly pingMs: number;
  /**
   * An event that follows a write within this time is written together with those of the same time after it: a write
   * costs as much as everything else that the gateway does for an event. 0: every event is written at once.
   */
  readonly mergeMs: number;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

/**
 * The server-sent events of one response: headers with the first event, pings during silence, back-pressure, and one
 * `[DONE]` at the end.
 */
export class EventReply implements LiveOutput {
  private readonly response: ServerResponse;
  private readonly writer: PacedWriter;
  private pingTimer: NodeJS.Timeout | null = null;
  private writes = 0;
  private lastWriteMs = -Infinity;
  private pending: (string | Buffer)[] = [];
  private pendingBytes = 0;
  private flushTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly reply: FastifyReply,
    private readonly headersOf: HeadersOf,
    private readonly failureEvents: (failure: GatewayError) => string,
    private readonly timing: EventTiming,
  ) {
    this.response = reply.raw;
    this.writer = new PacedWriter(reply.raw, timing.stallMs);
  }

  get started(): boolean {
    return this.pingTimer !== null;
  }

  /** Sends the headers. From here on a failure can only be reported inside the stream. */
  start(): void {
    if (this.started) return;
    this.reply.hijack();
    this.response.writeHead(200, {
      ...this.headersOf(),
      'content-type': EVENT_STREAM_TYPE,
      'cache-control': 'no-cache, no-transform',
      // Disables response buffering in nginx.
      'x-accel-buffering': 'no',
    });
    this.pingTimer = setTimeout(() => this.ping(), this.timing.pingMs);
  }

  /** Sends the headers and a ping before the first event, so that client and proxies do not time out. */
  startEarly(): void {
    if (this.started || this.response.destroyed) return;
    this.start();
    this.ping();
  }

  write(frames: string | Buffer): boolean {
    if (this.response.destroyed) return true;
    if (!this.isFast && this.pending.length === 0) return this.writeNow(frames);
    this.pending.push(frames);
    this.pendingBytes += frames.length;
    if (this.pendingBytes > MAX_PENDING_BYTES) return this.flush();
    if (this.pending.length === 1) this.startFlushTimer();
    return !this.writer.isFull;
  }

  drained(): Promise<void> {
    return this.writer.drained();
  }

  /** Sends the last events and ends the stream. */
  finish(frames: string): void {
    this.abandon();
    this.writer.end(joined([...this.takePending(), frames + DONE]));
  }

  fail(failure: GatewayError): void {
    this.finish(this.failureEvents(failure));
  }

  /** Stops the timers, for example after a disconnect. */
  abandon(): void {
    if (this.pingTimer !== null) clearTimeout(this.pingTimer);
    if (this.flushTimer !== null) clearTimeout(this.flushTimer);
  }

  private get isFast(): boolean {
    return this.writes >= WRITES_BEFORE_MERGING && performance.now() - this.lastWriteMs < this.timing.mergeMs;
  }

  private writeNow(bytes: string | Buffer): boolean {
    this.writes += 1;
    this.lastWriteMs = performance.now();
    this.pingTimer?.refresh();
    return this.writer.write(bytes);
  }

  private startFlushTimer(): void {
    if (this.flushTimer === null) this.flushTimer = setTimeout(() => this.flush(), this.timing.mergeMs);
    else this.flushTimer.refresh();
  }

  private flush(): boolean {
    return this.pending.length === 0 || this.writeNow(joined(this.takePending()));
  }

  private takePending(): (string | Buffer)[] {
    const { pending } = this;
    this.pending = [];
    this.pendingBytes = 0;
    return pending;
  }

  private ping(): void {
    this.write(PING);
  }
}

function joined(parts: readonly (string | Buffer)[]): string | Buffer {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/**
 * A raw byte response such as audio: the headers go out with the first bytes, with back-pressure. A failure can only be
 * signalled by resetting the connection, so the response ends cleanly only after the charge is settled.
 */
export class ByteReply implements LiveOutput {
  private readonly response: ServerResponse;
  private readonly writer: PacedWriter;
  private heldBack: Buffer = NO_BYTES;
  private headSent = false;

  constructor(
    private readonly reply: FastifyReply,
    private readonly contentType: string,
    private readonly headersOf: HeadersOf,
    stallMs: number,
  ) {
    this.response = reply.raw;
    this.writer = new PacedWriter(reply.raw, stallMs);
  }

  get started(): boolean {
    return this.headSent;
  }

  start(): void {
    if (this.headSent) return;
    this.headSent = true;
    this.reply.hijack();
    this.response.writeHead(200, {
      ...this.headersOf(),
      'content-type': this.contentType,
      // Disables response buffering in nginx.
      'x-accel-buffering': 'no',
    });
  }

  /** Sending headers early would rule out an error status. */
  startEarly(): void {}

  write(bytes: string | Buffer): boolean {
    const pending = Buffer.concat([this.heldBack, typeof bytes === 'string' ? Buffer.from(bytes) : bytes]);
    const cut = Math.max(0, pending.length - HELD_BACK_BYTES);
    this.heldBack = pending.subarray(cut);
    return cut === 0 || this.writer.write(pending.subarray(0, cut));
  }

  drained(): Promise<void> {
    return this.writer.drained();
  }

  finish(): void {
    this.writer.end(this.heldBack);
  }

  /** Resets the connection: a client that reads until close would take any other end for a complete response. */
  fail(): void {
    this.response.socket?.resetAndDestroy();
    this.response.destroy();
  }

  abandon(): void {}
}
