import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { PacedWriter } from './paced-writer';
import type { StreamReply } from './stream-reply';

/** The end of the answer that stays here until the charge is committed. Short, so that it delays nothing. */
const HELD_BACK_BYTES = 64;
const NO_BYTES = Buffer.alloc(0);

/**
 * An answer that is nothing but bytes, such as audio: the head with the first of them, back-pressure, and no last words.
 * The one way to tell of a failure is to break off, so the connection never ends well before everything is settled.
 */
export class ByteReply implements StreamReply {
  private readonly response: ServerResponse;
  private readonly writer: PacedWriter;
  private heldBack: Buffer = NO_BYTES;
  private headSent = false;

  constructor(
    private readonly reply: FastifyReply,
    readonly contentType: string,
    /** Asked when the head goes out: by then it is known who answers. */
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
      // Asks proxies of the nginx family not to collect the answer before they pass it on.
      'x-accel-buffering': 'no',
    });
  }

  /** A head without bytes would only take away the status that a failure could still have. */
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

  /** A reset: to a client that reads until the connection ends, any other end would look like that of a whole answer. */
  fail(): void {
    this.response.socket?.resetAndDestroy();
    this.response.destroy();
  }

  abandon(): void {}
}
