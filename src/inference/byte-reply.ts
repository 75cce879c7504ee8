import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { PacedWriter } from './paced-writer';
import type { StreamReply } from './stream-reply';

/** The end of the response is held back until the charge is committed. Too short to cause a delay. */
const HELD_BACK_BYTES = 64;
const NO_BYTES = Buffer.alloc(0);

/**
 * A raw byte response such as audio: the headers go out with the first bytes, with back-pressure. A failure can only be
 * signalled by resetting the connection, so it ends cleanly only after the charge is settled.
 */
export class ByteReply implements StreamReply {
  private readonly response: ServerResponse;
  private readonly writer: PacedWriter;
  private heldBack: Buffer = NO_BYTES;
  private headSent = false;

  constructor(
    private readonly reply: FastifyReply,
    readonly contentType: string,
    /** Called when the headers are sent: by then the serving model is known. */
    private readonly headers: () => Readonly<Record<string, string>>,
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
      ...this.headers(),
      'content-type': this.contentType,
      // Disables response buffering in nginx.
      'x-accel-buffering': 'no',
    });
  }

  /** Sending headers early would rule out an error status. */
  startSilently(): void {}

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
