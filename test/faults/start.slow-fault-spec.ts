import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { endChildren, findFreePort } from '../harness/child-process';
import { createEmptyTestDatabase, createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess, TEST_PEPPER } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { WorkerProcess } from '../harness/worker-process';
import { MIGRATIONS } from '../../src/core/database/migrations';
import { allowedMs, report } from './figures';
import { Operator } from './operator';

const SECRET = 'hunter2';

afterEach(endChildren);

describe('a gateway with invalid settings', () => {
  const directory = createDataDirectory();
  afterAll(() => directory.remove());

  /** Its output, after it exited with 1. */
  async function refusal(environment: Record<string, string>): Promise<string> {
    const gateway = GatewayProcess.launch({ dataDir: directory.path, environment });
    expect(await gateway.child.exited).toEqual({ code: 1, signal: null });
    return gateway.log;
  }

  it('exits with 1 and names all of them, without a value that may be a secret', async () => {
    const environment = {
      PORT: 'abc',
      DATABASE_URL: `mysql://root:${SECRET}@127.0.0.1/gateway`,
      REDIS_URL: `http://:${SECRET}@127.0.0.1`,
      API_KEY_PEPPER: SECRET,
      MAX_REQUEST_BYTES: '-1',
      TRUST_PROXY: 'everyone',
      OPENAI_BASE_URL: 'localhost:11434',
    };
    const log = await refusal(environment);
    for (const name of Object.keys(environment)) expect(log).toContain(name);
    expect(log).not.toContain(SECRET);
    expect(log).not.toMatch(/^\s+at /m);
  });

  it('exits with 1 and names CATALOG_DIR when it does not exist', async () => {
    const log = await refusal({ CATALOG_DIR: '/nowhere/at/all', DATABASE_URL: '', REDIS_URL: '' });
    expect(log).toContain('CATALOG_DIR');
    expect(log).not.toMatch(/^\s+at /m);
  });

  it('exits with 1 and prints why no embedded database can be created, without a stack', async () => {
    const data = createDataDirectory();
    try {
      // Neither root's PostgreSQL account nor another user can write here.
      mkdirSync(join(data.path, 'postgres'), { mode: 0o500 });
      const log = await refusal({ DATABASE_URL: '', REDIS_URL: '', DATA_DIR: data.path });
      expect(log).toMatch(/permission denied/i);
      expect(log).not.toMatch(/^\s+at /m);
    } finally {
      data.remove();
    }
  });

  it('exits with 1 in production when its local object storage cannot be written', async () => {
    const database = await createTestDatabase();
    const occupied = join(directory.path, 'occupied');
    writeFileSync(occupied, '');
    try {
      const log = await refusal({
        NODE_ENV: 'production',
        STORAGE: 'local',
        DATA_DIR: occupied,
        PUBLIC_BASE_URL: 'https://ai.example',
        DATABASE_URL: database.url,
        REDIS_URL: createTestRedis().url,
        API_KEY_PEPPER: TEST_PEPPER,
        SECRETS_KEY: '0'.repeat(64),
      });
      expect(log).toMatch(/occupied\/objects cannot be written: .+ Check the directory that DATA_DIR names\.\n$/);
      expect(log).not.toMatch(/^\s+at /m);
    } finally {
      await database.drop();
    }
  });

  it('exits with 1 in production without its servers and secrets, naming all four', async () => {
    const log = await refusal({ NODE_ENV: 'production' });
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'API_KEY_PEPPER', 'SECRETS_KEY']) expect(log).toContain(name);
  });

  it('exits with 1 and reports a port in use, leaving no server behind', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const database = await createTestDatabase();
    try {
      const { url: redisUrl } = createTestRedis();
      const log = await refusal({ PORT: String(port), DATABASE_URL: database.url, REDIS_URL: redisUrl });
      expect(log).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}. Check HOST and PORT.`);
    } finally {
      holder.close();
      await database.drop();
    }
  });

  it('exits with 1 and stops its work when its own port is also the one of the probes', async () => {
    const database = await createTestDatabase();
    const port = await findFreePort();
    try {
      const log = await refusal({
        PORT: String(port),
        MANAGEMENT_PORT: String(port),
        DATABASE_URL: database.url,
        REDIS_URL: createTestRedis().url,
      });
      expect(log).toContain(`EADDRINUSE: address already in use 127.0.0.1:${port}. Check HOST and MANAGEMENT_PORT.`);
      const operator = await Operator.connect(database.url);
      const left = await operator.rows('SELECT 1 FROM gateway_instance').finally(() => operator.close());
      expect(left).toEqual([]);
    } finally {
      await database.drop();
    }
  });

  it('exits with 1 and names HOST when it is no address of this machine', async () => {
    const database = await createTestDatabase();
    try {
      const log = await refusal({ HOST: '999.1.1.1', DATABASE_URL: database.url, REDIS_URL: createTestRedis().url });
      expect(log).toContain('Cannot listen: getaddrinfo ENOTFOUND 999.1.1.1. Check HOST and PORT.');
    } finally {
      await database.drop();
    }
  });

  it('exits with 1 within seconds when no PostgreSQL listens at its URL', async () => {
    // Below the ephemeral ports.
    const port = 1;
    const startedAtMs = performance.now();
    const log = await refusal({
      DATABASE_URL: `postgres://gateway:${SECRET}@127.0.0.1:${port}/gateway`,
      REDIS_URL: createTestRedis().url,
      API_KEY_PEPPER: TEST_PEPPER,
    });
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(20_000));
    expect(log).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
    expect(log).not.toContain(SECRET);
  });

  it('exits with 1 and says in one line why PostgreSQL refuses the connection', async () => {
    const database = await createEmptyTestDatabase();
    try {
      const log = await refusal({ DATABASE_URL: `${database.url}_missing`, REDIS_URL: createTestRedis().url });
      expect(log).toMatch(
        /^Cannot connect to PostgreSQL: database ".+_missing" does not exist\. Check DATABASE_URL .+\n$/,
      );
    } finally {
      await database.drop();
    }
  });
});

describe('a separate worker', () => {
  const directory = createDataDirectory();
  afterAll(() => directory.remove());
  const start = (environment: Record<string, string>) =>
    WorkerProcess.start({
      databaseUrl: 'postgres://127.0.0.1:1/none',
      redisUrl: 'redis://127.0.0.1:1',
      dataDir: directory.path,
      environment,
    });

  it('refuses to start without the public URL that signed URLs need', async () => {
    const refusal = start({ STORAGE: 'local', PUBLIC_BASE_URL: '' });
    await expect(refusal).rejects.toThrow(/ended while starting:[^]*PUBLIC_BASE_URL is not set/);
    await expect(refusal).rejects.not.toThrow(/^\s+at /m);
  });

  it('reports a local object storage that cannot be written, not an address', async () => {
    const database = await createTestDatabase();
    const occupied = join(directory.path, 'occupied');
    writeFileSync(occupied, '');
    const started = WorkerProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      dataDir: occupied,
      environment: {
        NODE_ENV: 'production',
        STORAGE: 'local',
        PUBLIC_BASE_URL: 'https://ai.example',
        SECRETS_KEY: '0'.repeat(64),
      },
    });
    await expect(started).rejects.toThrow(
      /starting:\n\S+occupied\/objects cannot be written: .+ Check the directory that DATA_DIR names\.\n$/,
    );
    await database.drop();
  });

  it.each([
    { STORAGE: 'local', PUBLIC_BASE_URL: 'https://ai.example' },
    { STORAGE: 'none', PUBLIC_BASE_URL: '' },
  ])('requires no other setting with %p', async (environment) => {
    await expect(start(environment)).rejects.toThrow(/ended while starting:[^]*ECONNREFUSED/);
  });
});

describe('gateways that start concurrently on an empty database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createEmptyTestDatabase();
  });
  afterAll(() => database.drop());

  it('all become ready, and every migration runs once', async () => {
    const settings = { databaseUrl: database.url, redisUrl: createTestRedis().url };
    const gateways = [1, 2, 3].map(() => GatewayProcess.launch(settings));
    const readyMs = await Promise.all(gateways.map((gateway) => gateway.ready()));
    report('three starts on an empty database', { readyMs: readyMs.map(Math.round) });

    const operator = await Operator.connect(database.url);
    try {
      const rows = await operator.rows<{ name: string }>('SELECT name FROM migrations ORDER BY id');
      expect(rows.map(({ name }) => name)).toEqual(MIGRATIONS.map((migration) => migration.name));
      expect(await operator.violations()).toEqual([]);
    } finally {
      await operator.close();
    }
  });
});
