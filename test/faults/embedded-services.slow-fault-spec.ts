import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../src/core/embedded/process-control';
import {
  connect,
  end,
  endOwners,
  eventually,
  exitOf,
  forkOwner,
  ping,
  query,
  readState,
  start,
  STARTS_AGAIN_WITHIN_MS,
  STARTS_WITHIN_MS,
} from '../integration/embedded/embedded-owner';

const root = mkdtempSync(join(tmpdir(), 'gateway-embedded-'));
let directoryCount = 0;

beforeAll(() => chmodSync(root, 0o711));

afterEach(endOwners);

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('embedded services', () => {
  it('answer within 15 s of a first start and 5 s of another one, and keep their data between', async () => {
    const dataDir = newDirectory();
    const first = await start(dataDir, STARTS_WITHIN_MS);
    await query(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await end(first.process, 'SIGTERM');

    const second = await start(dataDir, STARTS_AGAIN_WITHIN_MS);
    expect(await query(second, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('leave no process and no claim behind on SIGTERM', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    const { postgresPid, redisPid } = readState(dataDir);
    expect([postgresPid, redisPid].map((pid) => isRunning(Number(pid)))).toEqual([true, true]);

    expect(await end(owner.process, 'SIGTERM')).toBe(0);

    expect([postgresPid, redisPid].map((pid) => isRunning(Number(pid)))).toEqual([false, false]);
    expect(existsSync(join(dataDir, 'services.json'))).toBe(false);
  });

  it('survive Ctrl-C, which a terminal sends to the whole group, until the gateway stops them', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    const client = await connect(owner);
    process.kill(-Number(owner.process.pid), 'SIGINT');
    await client.query('SELECT pg_sleep(0.05)').catch(() => undefined);
    await client.end().catch(() => undefined);

    await exitOf(owner.process);

    expect(owner.process.exitCode).toBe(0);
    const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8');
    expect(log.match(/received fast shutdown request/g)).toHaveLength(1);
    expect(log).toContain('database system is shut down');
  });

  it('run twice on one machine with different data directories', async () => {
    const [first, second] = await Promise.all([start(newDirectory()), start(newDirectory())]);
    await query(first, 'CREATE TABLE mine (id integer)');
    expect(await query(second, `SELECT to_regclass('mine') AS mine`)).toEqual([{ mine: null }]);
  });

  it('are refused to a second gateway on the same data directory, naming the first', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    const second = forkOwner(dataDir);
    const [message] = (await once(second, 'message')) as [{ error: string }];
    expect(message.error).toContain(`Process ${owner.process.pid} already runs a gateway`);
    expect(message.error).toContain(dataDir);
    expect(await query(owner, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('start again after kill -9 of the gateway alone, ending what it left running', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    await query(owner, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const { postgresPid, redisPid } = readState(dataDir);
    await end(owner.process, 'SIGKILL');
    expect(isRunning(Number(postgresPid))).toBe(true);

    const next = await start(dataDir, STARTS_AGAIN_WITHIN_MS);

    expect(await query(next, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    expect([postgresPid, redisPid].map((pid) => isRunning(Number(pid)))).toEqual([false, false]);
  });

  it('recover after kill -9 of everything, losing no commit', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    await query(owner, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const { postgresPid } = readState(dataDir);
    owner.process.kill('SIGKILL');
    process.kill(-Number(postgresPid), 'SIGKILL');
    await exitOf(owner.process);

    const next = await start(dataDir, STARTS_AGAIN_WITHIN_MS);

    expect(await query(next, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('start over the lock of a dead server whose process id another program was given', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    const { postgresPid } = readState(dataDir);
    owner.process.kill('SIGKILL');
    process.kill(-Number(postgresPid), 'SIGKILL');
    await exitOf(owner.process);
    const lock = join(dataDir, 'postgres/data/postmaster.pid');
    const { uid, gid } = statSync(lock);
    const other = spawn('sleep', ['600'], { uid, gid });
    try {
      writeFileSync(lock, readFileSync(lock, 'utf8').replace(String(postgresPid), String(other.pid)));

      const next = await start(dataDir, STARTS_AGAIN_WITHIN_MS);

      expect(await query(next, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(other.exitCode).toBeNull();
    } finally {
      other.kill();
    }
  });

  it('are replaced on the same address when one of them is killed', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    await query(owner, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const before = readState(dataDir);
    process.kill(Number(before.postgresPid), 'SIGKILL');
    process.kill(Number(before.redisPid), 'SIGKILL');

    expect(await eventually(() => query(owner, 'SELECT answer FROM kept'))).toEqual([{ answer: 42 }]);
    expect(await eventually(() => ping(owner))).toBe('PONG');
    await eventually(async () => {
      const after = readState(dataDir);
      expect(after.postgresPid).not.toBe(before.postgresPid);
      expect(after.redisPid).not.toBe(before.redisPid);
    });
  });

  it('are shared with a command while the gateway runs, and outlive it', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    const command = await start(dataDir, STARTS_AGAIN_WITHIN_MS, 'attach');
    expect(command.databaseUrl).toBe(owner.databaseUrl);
    expect(command.redisUrl).toBe(owner.redisUrl);
    await end(command.process, 'SIGTERM');
    expect(await query(owner, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await ping(owner)).toBe('PONG');
  });

  it('are started for a command that finds no gateway, and a gateway waits until it ends', async () => {
    const dataDir = newDirectory();
    const command = await start(dataDir, STARTS_WITHIN_MS, 'attach');
    expect(await query(command, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const gateway = start(dataDir, STARTS_WITHIN_MS);
    await end(command.process, 'SIGTERM');
    expect(await query(await gateway, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('ask for a password, and keep it in files that only their owner reads', async () => {
    const dataDir = newDirectory();
    const owner = await start(dataDir);
    for (const file of ['services.json', 'secrets.json', 'postgres.log']) {
      expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
    }
    const databaseUrl = new URL(owner.databaseUrl);
    databaseUrl.password = 'wrong';
    await expect(query({ databaseUrl: databaseUrl.href }, 'SELECT 1')).rejects.toThrow(
      'password authentication failed',
    );
    const redisUrl = new URL(owner.redisUrl);
    redisUrl.password = '';
    await expect(ping({ redisUrl: redisUrl.href })).rejects.toThrow('NOAUTH');
  });
});

const describeAsRoot = process.getuid?.() === 0 ? describe : describe.skip;

describeAsRoot('embedded services of root', () => {
  it('run as another account, also where that one may not enter the data directory', async () => {
    const closed = newDirectory();
    mkdirSync(closed, { mode: 0o700 });
    const dataDir = join(closed, 'data');
    const owner = await start(dataDir);
    const home = realpathSync(join(dataDir, 'postgres'));
    try {
      await query(owner, 'CREATE TABLE kept AS SELECT 42 AS answer');
      expect(home.startsWith(closed)).toBe(false);
      await end(owner.process, 'SIGTERM');
      const next = await start(dataDir, STARTS_AGAIN_WITHIN_MS);
      expect(await query(next, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
      await end(next.process, 'SIGTERM');
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});

function newDirectory(): string {
  directoryCount += 1;
  return join(root, `data-${directoryCount}`);
}
