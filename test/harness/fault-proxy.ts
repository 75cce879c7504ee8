/**
 * A proxy that fails on demand, in front of PostgreSQL, Redis or a provider. Faults can change at any time, separately
 * for each direction; it never loses bytes, like TCP itself.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export type Direction = 'toServer' | 'toClient';

export interface WireFaults {
  /** Forwards and reads nothing more while connections stay open, like a machine that hangs. */
  readonly hang: boolean;
  /** Before each piece. */
  readonly latencyMs: number;
  /** Maximum bytes per write. */
  readonly sliceBytes: number;
  readonly bytesPerSecond: number;
  /** After this many bytes of a connection: a reset of both sides, or the end of this direction. */
  readonly cut: { readonly afterBytes: number; readonly by: 'reset' | 'end' } | null;
  /** Inverts every byte. */
  readonly garbage: boolean;
}

const SOUND: WireFaults = {
  hang: false,
  latencyMs: 0,
  sliceBytes: Infinity,
  bytesPerSecond: Infinity,
  cut: null,
  garbage: false,
};
/** Write interval with a limited bandwidth. */
const SLICES_PER_SECOND = 20;

export class FaultProxy {
  /** Connections accepted so far. */
  connections = 0;
  /** Bytes forwarded so far. */
  readonly bytes: Record<Direction, number> = { toServer: 0, toClient: 0 };
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private faults: Record<Direction, WireFaults> = { toServer: SOUND, toClient: SOUND };
  private down = false;
  private changed = Promise.withResolvers<void>();

  private constructor(private target: URL) {
    this.server = createServer({ allowHalfOpen: true }, (client) => this.accept(client));
  }

  /** @param url of the server behind the proxy */
  static async start(url: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(new URL(url));
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  /** The same URL through this proxy. */
  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(port);
    // A URL without a path is compared as an origin.
    return this.target.pathname === '/' ? url.href.replace(/\/$/, '') : url.href;
  }

  /** Number of open connections. */
  get open(): number {
    return this.sockets.size / 2;
  }

  /** Takes effect at once, also on data in transit. */
  fail(direction: Direction | 'both', faults: Partial<WireFaults>): void {
    const now = { ...SOUND, ...faults };
    if (direction !== 'toClient') this.faults.toServer = now;
    if (direction !== 'toServer') this.faults.toClient = now;
    this.announce();
  }

  /** Closes new connections at once and cuts existing ones. */
  cutOff(): void {
    this.down = true;
    this.reset();
  }

  /** New connections go to another server; existing ones stay where they are. */
  redirect(url: string): void {
    this.target = new URL(url);
  }

  /** Removes all faults. */
  heal(): void {
    this.down = false;
    this.fail('both', {});
  }

  /** Resets every connection. */
  reset(): void {
    this.sockets.forEach(resetConnection);
    this.announce();
  }

  async close(): Promise<void> {
    this.server.close();
    this.cutOff();
    await once(this.server, 'close');
  }

  private announce(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }

  private accept(client: Socket): void {
    this.connections++;
    if (this.down) {
      client.destroy();
      return;
    }
    const server = connect({ host: this.target.hostname, port: portOf(this.target), allowHalfOpen: true });
    for (const socket of [client, server]) {
      this.sockets.add(socket.setNoDelay(true));
      socket.on('error', () => undefined);
    }
    this.couple(client, server);
    this.couple(server, client);
    void this.carry('toServer', client, server);
    void this.carry('toClient', server, client);
  }

  /** Closes the other side in the same way when one side closes. */
  private couple(one: Socket, other: Socket): void {
    one.on('close', (failed) => {
      this.sockets.delete(one);
      this.announce();
      if (failed) resetConnection(other);
      else if (!one.readableEnded) other.destroy();
    });
  }

  private async carry(direction: Direction, from: Socket, to: Socket): Promise<void> {
    let passed = 0;
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        for (let rest = chunk; rest.length > 0 && !to.destroyed;) {
          while (this.faults[direction].hang && !to.destroyed) await this.changed.promise;
          const faults = this.faults[direction];
          const piece = rest.subarray(0, pieceBytes(faults, passed));
          if (piece.length > 0) await this.pass(direction, piece, to, faults);
          rest = rest.subarray(piece.length);
          passed += piece.length;
          if (faults.cut !== null && passed >= faults.cut.afterBytes) return end(to, from, faults.cut.by);
        }
      }
      to.end();
    } catch {
      // The connection broke; `couple` closes the other side.
    }
  }

  private async pass(direction: Direction, piece: Buffer, to: Socket, faults: WireFaults): Promise<void> {
    const waitMs = faults.latencyMs + (1_000 * piece.length) / faults.bytesPerSecond;
    if (waitMs > 0) await delay(waitMs);
    if (to.destroyed) return;
    this.bytes[direction] += piece.length;
    if (!to.write(faults.garbage ? piece.map((byte) => byte ^ 0xff) : piece)) {
      await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
  }
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol.startsWith('postgres') ? 5_432 : 6_379);
}

function pieceBytes({ sliceBytes, bytesPerSecond, cut }: WireFaults, passed: number): number {
  const untilCut = cut === null ? Infinity : Math.max(0, cut.afterBytes - passed);
  return Math.min(untilCut, sliceBytes, Math.max(1, bytesPerSecond / SLICES_PER_SECOND));
}

function end(to: Socket, from: Socket, by: 'reset' | 'end'): void {
  if (by === 'end') {
    to.end();
    from.resume();
  } else {
    resetConnection(to);
    resetConnection(from);
  }
}

/**
 * While the end of a socket is being sent, Node cannot reset it: the handle would stay, and keep the process from
 * exiting.
 */
function resetConnection(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
