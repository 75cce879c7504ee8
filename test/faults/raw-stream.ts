/** A client that reads a streamed response byte by byte, or not at all, and can disconnect at any moment. */
import { connect, type Socket } from 'node:net';
import type { ChatCall } from './chat-load';

export interface RawStreamOptions {
  /** Disconnects after this many bytes of the response, headers included. */
  readonly leaveAfterBytes?: number;
  /** Reads nothing from its socket. */
  readonly stalled?: boolean;
}

export class RawStream {
  readonly sentAtMs = performance.now();
  leftAtMs: number | null = null;
  /** Resolves when the connection has closed, from either side. */
  readonly closed: Promise<void>;
  private readonly socket: Socket;
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  constructor({ url, key, body }: ChatCall, { leaveAfterBytes = Infinity, stalled = false }: RawStreamOptions = {}) {
    const text = JSON.stringify(body);
    this.socket = connect(Number(new URL(url).port), '127.0.0.1');
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    this.socket.on('error', () => undefined);
    if (stalled) {
      this.socket.pause();
    } else {
      this.socket.on('data', (chunk: Buffer) => {
        this.chunks.push(chunk);
        this.bytes += chunk.length;
        if (this.bytes >= leaveAfterBytes) this.leave();
      });
    }
    this.socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    if (leaveAfterBytes === 0) setImmediate(() => this.leave());
  }

  leave(): void {
    this.leftAtMs ??= performance.now();
    this.socket.destroy();
  }

  /** Everything received so far. */
  get received(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }

  get requestId(): string | null {
    return /^x-request-id: (\S+)/im.exec(this.received)?.[1] ?? null;
  }
}
