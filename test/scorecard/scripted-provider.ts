import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** How a provider answers one call; the body of the request has been read. */
export type Behaviour = (reply: ServerResponse, call: ProviderCall) => void;

/** A call as its provider receives it. */
export interface ProviderCall {
  readonly streamed: boolean;
  /** Of this provider since the start of the row, from 0. */
  readonly index: number;
  /** Name of this provider, part of every text it generates. */
  readonly provider: string;
}

const BACKLOG = 1_024;

/** A server of the OpenAI format on a fixed port, whose behaviour a row of the scorecard chooses. */
export class ScriptedProvider {
  private calls = 0;
  private behaviour: Behaviour = (reply) => reply.end();
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();

  private constructor(
    readonly name: string,
    private listeningPort: number,
  ) {}

  /** @param port 0 takes any free port */
  static async start(name: string, port: number): Promise<ScriptedProvider> {
    const provider = new ScriptedProvider(name, port);
    await provider.listen();
    return provider;
  }

  get port(): number {
    return this.listeningPort;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.listeningPort}/v1`;
  }

  /** Calls since the last change of behaviour. */
  get callCount(): number {
    return this.calls;
  }

  /** Takes effect with the next call. `refuse-connections` closes the port until the next change. */
  async become(behaviour: Behaviour | 'refuse-connections'): Promise<void> {
    this.calls = 0;
    if (behaviour === 'refuse-connections') {
      await this.stop();
      return;
    }
    this.behaviour = behaviour;
    if (this.server === null) await this.listen();
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async listen(): Promise<void> {
    const server = createServer((request, reply) => {
      this.handle(request, reply).catch(() => reply.destroy());
    });
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    server.listen({ port: this.listeningPort, host: '127.0.0.1', backlog: BACKLOG });
    await once(server, 'listening');
    this.listeningPort = (server.address() as AddressInfo).port;
    this.server = server;
  }

  private async handle(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    reply.on('error', () => undefined);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    // Gateways list the models of a provider or probe its health; that is not a call.
    if (request.method !== 'POST') {
      sendJson(reply, 200, { object: 'list', data: [{ id: 'scorecard', object: 'model', owned_by: this.name }] });
      return;
    }
    const { stream } = JSON.parse(Buffer.concat(parts).toString()) as { stream?: unknown };
    this.behaviour(reply, { streamed: stream === true, index: this.calls++, provider: this.name });
  }
}

export function sendJson(reply: ServerResponse, status: number, document: object): void {
  reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
}
