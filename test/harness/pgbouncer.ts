/** Runs a PgBouncer in transaction mode in front of PostgreSQL, with its own settings otherwise. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { choosePostgresAccount } from '../../src/core/embedded/postgres-account';
import { findFreePort, ManagedChild } from './child-process';

export const PGBOUNCER_IS_INSTALLED = spawnSync('pgbouncer', ['--version']).status === 0;

const START_ATTEMPTS = 5;
const POLL_MS = 20;

export interface RunningPgBouncer {
  /** The same database through the pooler. */
  urlOf(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** @param serverUrl any database of the server behind it. @param poolSize its connections per database. */
export async function startPgBouncer(serverUrl: string, poolSize: number): Promise<RunningPgBouncer> {
  // It refuses to run as root, as PostgreSQL does.
  const account = choosePostgresAccount();
  const directory = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort();
    const file = join(directory, 'pgbouncer.ini');
    writeFileSync(file, configuration(port, new URL(serverUrl), poolSize));
    chmodSync(directory, 0o700);
    if (account !== null) [directory, file].forEach((path) => chownSync(path, account.uid, account.gid));
    const child = new ManagedChild({
      command: 'pgbouncer',
      args: [file],
      options: { ...account, cwd: '/' },
      stopSignal: 'SIGTERM',
    });
    const urlOf = (databaseUrl: string): string => {
      const url = new URL(databaseUrl);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    };
    if (await accepts(urlOf(serverUrl), child)) {
      const stop = async (): Promise<void> => {
        await child.end();
        rmSync(directory, { recursive: true, force: true });
      };
      return { urlOf, stop };
    }
    // Another process may have taken the port in the meantime.
    if (attempt === START_ATTEMPTS) throw new Error(`PgBouncer does not start:\n${child.output}`);
  }
}

function configuration(port: number, server: URL, poolSize: number): string {
  const password = server.password === '' ? '' : ` password=${decodeURIComponent(server.password)}`;
  return `
[databases]
* = host=${server.hostname} port=${server.port} user=${server.username}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`;
}

async function accepts(url: string, child: ManagedChild): Promise<boolean> {
  while (!child.hasExited) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      await delay(POLL_MS);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return false;
}
