import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Sent to the bench by a server process once it accepts connections. */
export interface ServerReady {
  readonly port: number;
}

/** Listens on a free loopback port, reports it to the parent, and exits with the parent, however that ends. */
export function listenForBench(server: Server): void {
  server.keepAliveTimeout = 65_000;
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
    const { port } = server.address() as AddressInfo;
    const ready: ServerReady = { port };
    process.send?.(ready);
  });
  exitWithParent();
}

/** Ctrl-C reaches the whole process group; the parent decides the order of stopping. */
export function exitWithParent(): void {
  process.on('SIGINT', () => undefined);
  process.on('disconnect', () => process.exit());
}
