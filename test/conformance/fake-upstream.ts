import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A received request, and the outcome of its response. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** The body as text; `bytes` also holds content that is not UTF-8, such as files of a form. */
  readonly body: string;
  readonly bytes: Buffer;
  /** When the connection closed before the answer was complete, by `performance.now()`; `null` while it has not. */
  brokenAtMs: number | null;
}

/** Answers one request; the body has been read. */
export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** An HTTP server whose behaviour a test scripts. */
export class FakeUpstream {
  readonly received: ReceivedRequest[] = [];
  connections = 0;
  answer: Answer = (response) => response.end('{}');
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor() {
    this.server = createServer((request, response) => {
      this.handle(request, response).catch(() => response.destroy());
    });
    this.server.on('connection', (socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async start(): Promise<FakeUpstream> {
    const upstream = new FakeUpstream();
    upstream.server.listen(0, '127.0.0.1');
    await once(upstream.server, 'listening');
    return upstream;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when the next request's connection has been closed by the client. */
  nextDisconnect(): Promise<void> {
    return new Promise((resolve) => {
      this.server.once('request', (request: IncomingMessage) => request.socket.once('close', () => resolve()));
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    // A client that disconnects during its upload ends the loop with an error.
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const { method = '', url = '', headers } = request;
    const received: ReceivedRequest = { method, url, headers, body: bytes.toString(), bytes, brokenAtMs: null };
    this.received.push(received);
    response.on('error', () => undefined);
    response.on('close', () => {
      if (!response.writableFinished) received.brokenAtMs = performance.now();
    });
    this.answer(response, received);
  }
}

/** What a response has handed to its connection so far. */
export interface Outflow {
  bytes: number;
}

/** Repeats a piece as fast as it is read, until the response is closed or `limitBytes` have been written. */
export function flood(response: ServerResponse, piece: string | Buffer, limitBytes: number): Outflow {
  const outflow = { bytes: 0 };
  const pieceBytes = Buffer.byteLength(piece);
  const pump = (): void => {
    while (!response.destroyed && outflow.bytes < limitBytes) {
      outflow.bytes += pieceBytes;
      if (!response.write(piece)) return;
    }
  };
  response.on('drain', pump);
  pump();
  return outflow;
}
