/**
 * The process of the embedded Redis server: `embedded-redis.ts` forks it, sends `{ port, password }` and receives the
 * port. It exits when its owner exits for any reason, because the IPC channel closes.
 */
import { createServer } from 'node:net';
import {
  attachSession,
  createRedisCommandExecutor,
  RedisServerState,
  SocketConnectionTransport,
} from 'js-redis-server/core';

const DATABASE_COUNT = 16;

process.once('disconnect', () => process.exit());
// Ctrl-C reaches all processes of a terminal; the owner first finishes its requests, which need this server.
process.on('SIGINT', () => undefined);

process.once('message', ({ port, password }: { port: number; password: string }) => {
  const state = new RedisServerState({ databaseCount: DATABASE_COUNT, requirepass: password });
  const executor = createRedisCommandExecutor({});
  const logger = { error: (error: unknown) => void process.stderr.write(`${String(error)}\n`) };
  const server = createServer({ keepAlive: true, noDelay: true }, (socket) => {
    attachSession(new SocketConnectionTransport(socket), {
      state,
      executor,
      logger,
      clientAddress: `${socket.remoteAddress}:${socket.remotePort}`,
    });
  });
  // The package's default server would listen on every network interface.
  server.listen(port, '127.0.0.1', () => process.send?.(server.address()));
});
