/** A sentinel whose answers and announcements a test orders. Between real ones the order is random. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { bulk, onCommand } from '../limits/scripted-redis';

const CHANNEL = '+switch-master';

export class ScriptedSentinel {
  private readonly sockets = new Set<Socket>();
  private readonly subscribers = new Set<Socket>();
  /** Sockets that wait for the address of the primary. */
  private waiting: Socket[] = [];
  private holding = false;
  private changed = Promise.withResolvers<void>();

  private constructor(
    private readonly server: Server,
    private readonly primaryPort: string,
  ) {}

  /** @param primaryUrl of the server that it names as the primary, on this machine */
  static async start(primaryUrl: string): Promise<ScriptedSentinel> {
    const server = createServer();
    const sentinel = new ScriptedSentinel(server, new URL(primaryUrl).port);
    server.on('connection', (socket) => sentinel.serve(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return sentinel;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Holds back the address of the primary from now on. */
  hold(): void {
    this.holding = true;
  }

  /** Sends the address to all that wait for it. */
  release(): void {
    this.holding = false;
    for (const socket of this.waiting.splice(0)) socket.write(this.address());
  }

  /** Announces a failover to the subscribers. */
  announceFailover(): void {
    const message = `*3\r\n${bulk('message')}${bulk(CHANNEL)}${bulk('primary 127.0.0.1 1 127.0.0.1 2')}`;
    for (const socket of this.subscribers) socket.write(message);
  }

  async untilSubscribed(count: number): Promise<void> {
    while (this.subscribers.size !== count) await this.changed.promise;
  }

  /** Resolves when `count` clients wait for the address of the primary. */
  async untilAsked(count: number): Promise<void> {
    while (this.waiting.length !== count) await this.changed.promise;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.subscribers.delete(socket);
      this.announceChange();
    });
    onCommand(socket, (words) => {
      this.answer(socket, words);
      this.announceChange();
    });
  }

  private answer(socket: Socket, [name = '', argument]: readonly string[]): void {
    if (name.toLowerCase() === 'subscribe') {
      this.subscribers.add(socket);
      socket.write(`*3\r\n${bulk('subscribe')}${bulk(CHANNEL)}:1\r\n`);
    } else if (argument === 'get-master-addr-by-name') {
      if (this.holding) this.waiting.push(socket);
      else socket.write(this.address());
    } else {
      socket.write(argument === 'sentinels' ? '*0\r\n' : '+OK\r\n');
    }
  }

  private address(): string {
    return `*2\r\n${bulk('127.0.0.1')}${bulk(this.primaryPort)}`;
  }

  private announceChange(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }
}
