import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { exceptTestServer } from './socket-watch';
import { createTestCertificate, trust } from './test-certificate';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type HostAnswer = (response: ServerResponse, request: SeenRequest) => void;

/** A PNG of one pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/**
 * An https server on 127.0.0.1 that simulates a host on the public internet: TLS of this process trusts its
 * certificate, and the SSRF guard allows it when 127.0.0.1/32 is on the allow-list.
 */
export class PublicHost {
  readonly seen: SeenRequest[] = [];
  connections = 0;
  answer: HostAnswer = (response) => respondWith(response, PIXEL);
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** In PEM: for separate processes, which do not trust it yet. */
    readonly certificate: string,
    /** From now on TLS of this process refuses its certificate. */
    readonly distrust: () => void,
  ) {
    server.on('request', (request, response) => void this.handle(request, response));
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  /** @param names of its certificate, besides 127.0.0.1 */
  static async start(names: readonly string[] = []): Promise<PublicHost> {
    const pair = createTestCertificate(['127.0.0.1', ...names]);
    const server = createServer({ key: pair.key, cert: pair.certificate });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = new PublicHost(server, pair.certificate, trust(pair));
    exceptTestServer(host.port);
    return host;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves when every connection has been closed. */
  async idle(): Promise<void> {
    await Promise.all(Array.from(this.sockets, (socket) => once(socket, 'close')));
  }

  /** A URL on this host, by a name of its certificate. */
  url(path: string, name = '127.0.0.1'): string {
    return `https://${name}:${this.port}${path}`;
  }

  async stop(): Promise<void> {
    this.distrust();
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url = '', headers } = request;
    const seen = { method, url, headers, body };
    this.seen.push(seen);
    this.answer(response, seen);
  }
}

/** A complete response with an image, or with content that claims to be one. */
export function respondWith(response: ServerResponse, bytes: Buffer, contentType = 'image/png'): void {
  response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length }).end(bytes);
}
