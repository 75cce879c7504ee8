/**
 * A server with the Redis protocol in a separate process, so that its work never delays the gateway's event loop.
 * Memory only: the gateway tolerates the loss of all Redis data.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { firstMessage } from './process-control';
import { type EmbeddedServer, SupervisedProcess } from './supervised-process';

export interface EmbeddedRedisSettings {
  readonly dataDir: string;
  readonly password: string;
  readonly onLaunch: (pid: number) => void;
}

/** Starts the server on a free port of 127.0.0.1. A restarted process keeps the port. */
export async function startEmbeddedRedis(settings: EmbeddedRedisSettings, logger: Logger): Promise<EmbeddedServer> {
  let port = 0;
  const server = new SupervisedProcess(
    {
      name: 'The embedded Redis server',
      onLaunch: settings.onLaunch,
      endSteps: [
        ['SIGTERM', 2_000],
        ['SIGKILL', 2_000],
      ],
      launch: async () => {
        const { child, address } = await launch(settings, port);
        port = address.port;
        return child;
      },
    },
    logger,
  );
  await server.start();
  return { url: `redis://:${settings.password}@127.0.0.1:${port}`, stop: () => server.stop() };
}

async function launch(
  { dataDir, password }: EmbeddedRedisSettings,
  port: number,
): Promise<{ child: ChildProcess; address: { port: number } }> {
  const log = openSync(join(dataDir, 'redis.log'), 'a', 0o600);
  const child = fork(require.resolve('./redis-process'), { detached: true, stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  child.send({ port, password });
  const failure = `The embedded Redis server did not start; see ${join(dataDir, 'redis.log')}`;
  const address = await firstMessage<{ port: number }>(child, failure);
  child.unref();
  child.channel?.unref();
  return { child, address };
}
