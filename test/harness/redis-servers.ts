/** Real Redis servers and sentinels of one test, which it may kill. The embedded server has no replication. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort, ManagedChild } from './child-process';

export const REDIS_IS_INSTALLED = spawnSync('redis-server', ['--version']).status === 0;

const START_ATTEMPTS = 5;
const POLL_MS = 20;

export class RedisServer {
  readonly client: Redis;

  private constructor(
    readonly port: number,
    private readonly child: ManagedChild,
    private readonly directory: string,
  ) {
    this.client = new Redis(port, '127.0.0.1', { disconnectTimeout: 250 });
    this.client.on('error', () => undefined);
  }

  /** @param settings lines of its configuration file */
  static async start(settings: readonly string[] = [], role: 'server' | 'sentinel' = 'server'): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const port = await findFreePort();
      const directory = mkdtempSync(join(tmpdir(), 'redis-'));
      const file = join(directory, 'redis.conf');
      const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, 'protected-mode no', ...settings];
      writeFileSync(file, [...lines, ...(role === 'server' ? ['save ""'] : [])].join('\n'));
      const child = new ManagedChild({
        command: 'redis-server',
        args: role === 'sentinel' ? [file, '--sentinel'] : [file],
        options: { cwd: directory },
        stopSignal: 'SIGTERM',
      });
      const server = new RedisServer(port, child, directory);
      if (await server.answers()) return server;
      // Another process may have taken the port in the meantime.
      if (attempt === START_ATTEMPTS) throw new Error(`Redis does not start:\n${child.output}`);
      await server.remove();
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get isRunning(): boolean {
    return !this.child.hasExited;
  }

  get pid(): number {
    return this.child.pid;
  }

  async isPrimary(): Promise<boolean> {
    const [role] = (await this.client.role()) as [string];
    return role === 'master';
  }

  /** Resolves when this server has the data of the other one. */
  async follow(primary: RedisServer): Promise<void> {
    await this.client.replicaof('127.0.0.1', primary.port);
    while (!(await this.client.info('replication')).includes('master_link_status:up')) await delay(POLL_MS);
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    await this.child.kill();
  }

  async remove(): Promise<void> {
    this.client.disconnect();
    if (!this.child.hasExited) await this.child.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async answers(): Promise<boolean> {
    while (!this.child.hasExited) {
      if ((await this.client.ping().catch(() => '')) === 'PONG') return true;
      await delay(POLL_MS);
    }
    return false;
  }
}
