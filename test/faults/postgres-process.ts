/** A PostgreSQL server of one test, which the test may kill: the embedded binaries without a supervisor. */
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { choosePostgresAccount } from '../../src/core/embedded/postgres-account';
import { locatePrograms } from '../../src/core/embedded/postgres-files';
import { isRunning } from '../../src/core/embedded/process-control';
import { findFreePort, ManagedChild } from '../harness/child-process';
import { createDataDirectory, type DataDirectory } from '../harness/gateway-process';

const READY_WITHIN_MS = 100_000;
const POLL_MS = 10;

export class PostgresProcess {
  private child: ManagedChild | null = null;
  private readonly account = choosePostgresAccount();
  private readonly programs = locatePrograms(this.account);
  private readonly data: string;
  private readonly settings: string[];

  private constructor(
    private readonly port: number,
    private readonly directory: DataDirectory,
  ) {
    this.data = join(directory.path, 'data');
    this.settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=on'];
  }

  /** Starts a new cluster. As durable as a real one: fsync is on. */
  static async create(directory = createDataDirectory()): Promise<PostgresProcess> {
    const server = new PostgresProcess(await findFreePort(), directory);
    server.initialize();
    await server.start();
    return server;
  }

  /** Starts a streaming replica of this server, which is restarted for the copy of its files. */
  async createStandby(): Promise<PostgresProcess> {
    const standby = new PostgresProcess(await findFreePort(), createDataDirectory());
    await this.stop();
    execFileSync('cp', ['-a', this.data, standby.data]);
    await this.start();
    const primary = new URL(this.url);
    writeFileSync(join(standby.data, 'standby.signal'), '');
    standby.settings.push(`primary_conninfo=host=${primary.hostname} port=${primary.port} user=${primary.username}`);
    await standby.start();
    return standby;
  }

  /** Whether it runs, which includes that it recovers from a crash. */
  get isUp(): boolean {
    return this.child !== null && !this.child.hasExited;
  }

  /** URL of its database `postgres`. */
  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Resolves when it accepts connections. */
  async start(): Promise<void> {
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      this.child ??= new ManagedChild({
        command: this.programs.postgres,
        args: ['-D', this.data, ...this.settings.flatMap((setting) => ['-c', setting])],
        options: { ...this.account, cwd: '/', env: { LC_ALL: 'C' } },
        stopSignal: 'SIGQUIT',
      });
      if (await this.accepts()) return;
      if (performance.now() > deadlineMs) throw new Error(`PostgreSQL does not start:\n${this.child.output}`);
      // Children of a killed server can hold its memory for a moment: the new one exits, and another start is tried.
      if (this.child.hasExited) this.child = null;
      await delay(POLL_MS);
    }
  }

  /** `kill -9` of the postmaster and of all its child processes. */
  async killEverything(): Promise<void> {
    const { child } = this;
    if (child === null) return;
    const backends = childrenOf(child.pid);
    process.kill(child.pid, 'SIGKILL');
    backends.forEach(killIfAlive);
    await child.exited;
    while (backends.some(isRunning)) await delay(1);
    this.child = null;
  }

  /** Fast shutdown: open transactions are rolled back, sessions terminated. */
  async stop(): Promise<void> {
    await this.child?.end('SIGINT');
    this.child = null;
  }

  async remove(): Promise<void> {
    await this.child?.end('SIGQUIT');
    this.directory.remove();
  }

  private initialize(): void {
    mkdirSync(this.data, { mode: 0o700 });
    if (this.account !== null) chownSync(this.data, this.account.uid, this.account.gid);
    const options = ['-D', this.data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'];
    execFileSync(this.programs.initdb, options, { ...this.account, cwd: '/', env: { LC_ALL: 'C' }, stdio: 'ignore' });
  }

  private async accepts(): Promise<boolean> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function childrenOf(parentPid: number): number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (pid !== undefined && ppid === parentPid ? [pid] : []));
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It noticed the death of its postmaster and exited too.
  }
}
