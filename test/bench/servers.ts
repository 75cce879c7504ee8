import { type ChildProcess, execFileSync } from 'node:child_process';
import { accessSync, chmodSync, chownSync, constants, mkdirSync, readdirSync } from 'node:fs';
import { createConnection } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort, isRunning, startProgram } from '#bench/children';
import type { MeteredProcess } from '#bench/cpu';

export interface RealServer {
  readonly url: string;
  /** For the output, for example `PostgreSQL 18.1`. */
  readonly version: string;
  readonly process: MeteredProcess;
}

const READY_TIMEOUT_MS = 20_000;
const DEBIAN_POSTGRES = '/usr/lib/postgresql';

/** A fresh PostgreSQL with its defaults, so with fsync on; `null` when none is installed. */
export async function startPostgres(directory: string): Promise<RealServer | null> {
  const postgres = findProgram('postgres', debianPostgresFolders());
  const initdb = findProgram('initdb', debianPostgresFolders());
  if (postgres === null || initdb === null) return null;
  const port = await freePort();
  const dataDirectory = join(directory, 'postgres');
  mkdirSync(dataDirectory, { mode: 0o700 });
  const owner = postgresOwner();
  if (owner) {
    chmodSync(directory, 0o711);
    chownSync(dataDirectory, owner.uid, owner.gid);
  }
  const initdbArgs = ['-D', dataDirectory, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale'];
  execFileSync(initdb, initdbArgs, { ...owner, stdio: 'ignore', cwd: dataDirectory });
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=on'];
  const child = startProgram({
    command: postgres,
    args: ['-D', dataDirectory, ...settings.flatMap((setting) => ['-c', setting])],
    logFile: join(directory, 'postgres.log'),
    stopSignal: 'SIGINT',
    options: { ...owner, cwd: dataDirectory },
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await untilReady(child, 'PostgreSQL', () => pingPostgres(url));
  return {
    url,
    version: `PostgreSQL ${versionOf(postgres)}`,
    process: { name: 'postgres', pid: child.pid, scope: 'tree' },
  };
}

/** A fresh Redis that keeps nothing on disk; `null` when none is installed. */
export async function startRedis(directory: string): Promise<RealServer | null> {
  const redis = findProgram('redis-server', []);
  if (redis === null) return null;
  const port = await freePort();
  const child = startProgram({
    command: redis,
    args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', directory],
    logFile: join(directory, 'redis.log'),
    stopSignal: 'SIGTERM',
  });
  await untilReady(child, 'Redis', () => pingRedis(port));
  const process = { name: 'redis', pid: child.pid, scope: 'tree' } as const;
  return { url: `redis://127.0.0.1:${port}`, version: `Redis ${versionOf(redis)}`, process };
}

/**
 * Polls until the condition is true; an attempt that throws counts as false. Rejects when the program exits or takes
 * too long.
 */
export async function untilReady(
  child: ChildProcess,
  what: string,
  isReady: () => Promise<boolean>,
  timeoutMs = READY_TIMEOUT_MS,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  let cause: unknown;
  while (performance.now() < deadlineMs) {
    try {
      if (await isReady()) return;
    } catch (error) {
      cause = error;
    }
    if (!isRunning(child)) throw new Error(`${what} ended at its start`);
    await delay(50);
  }
  throw new Error(`${what} was not ready after ${timeoutMs / 1000} s`, { cause });
}

async function pingPostgres(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function pingRedis(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write('PING\r\n'));
    socket.once('error', reject);
    socket.once('data', (reply) => {
      socket.destroy();
      resolve(reply.toString().startsWith('+PONG'));
    });
  });
}

function debianPostgresFolders(): string[] {
  try {
    const versions = readdirSync(DEBIAN_POSTGRES).toSorted((left, right) => Number(right) - Number(left));
    return versions.map((version) => join(DEBIAN_POSTGRES, version, 'bin'));
  } catch {
    return [];
  }
}

export function findProgram(name: string, moreFolders: readonly string[] = []): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...moreFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL refuses to run as root; its packages create a user `postgres`. */
function postgresOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return { uid: postgresId('-u'), gid: postgresId('-g') };
}

function postgresId(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
}

function versionOf(program: string): string {
  const text = execFileSync(program, ['--version'], { encoding: 'utf8' });
  return /\d+(\.\d+)+/.exec(text)?.[0] ?? text.trim();
}
