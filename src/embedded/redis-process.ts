/**
 * The embedded Redis server's own process: `embedded-redis.ts` forks it, sends it `{ port, password }` and is told
 * the port. It ends as soon as its owner does, however that ends, because the channel between them then closes.
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
// Ctrl-C reaches a whole terminal; the owner first finishes its requests, which need this server.
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
  // The package's own server would listen on every network interface.
  server.listen(port, '127.0.0.1', () => process.send?.(server.address()));
});
