import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { NO_LIMITS } from '../types/rate-limits';
import { ConfigurationError, loadConfig, readEnvironment, type Environment } from './load-config';

const production = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://gateway:secret@db/gateway',
  REDIS_URL: 'rediss://:secret@cache:6380/0',
  API_KEY_PEPPER: 'p'.repeat(32),
  SECRETS_KEY: 'ab'.repeat(32),
};

function problemsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return error.problems;
    }
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('refuses a memory budget smaller than two bodies of the largest size', () => {
    const environment = {
      MAX_REQUEST_BYTES: '1000000',
      MAX_MULTIPART_BYTES: '1000000',
      MAX_BUFFERED_BYTES: '1999999',
    };
    expect(problemsOf(environment)).toEqual([
      'MAX_BUFFERED_BYTES is less than twice MAX_REQUEST_BYTES',
      'MAX_BUFFERED_BYTES is less than twice MAX_MULTIPART_BYTES',
    ]);
    expect(loadConfig({ ...environment, MAX_BUFFERED_BYTES: '2000000' }).http.maxBufferedBytes).toBe(2_000_000);
  });

  it('removes days of the ledger only after 30 days, and only into an object storage', () => {
    expect(problemsOf({ LEDGER_RETENTION_DAYS: '29' })).toEqual(['LEDGER_RETENTION_DAYS is less than 30, and not 0']);
    expect(problemsOf({ LEDGER_RETENTION_DAYS: '30', STORAGE: 'none' })).toEqual([
      'LEDGER_RETENTION_DAYS is set, but there is no object storage for the days that it removes: STORAGE',
    ]);
    expect(loadConfig({ LEDGER_RETENTION_DAYS: '30' }).ledgerRetentionDays).toBe(30);
  });

  it('deletes entries of the audit log only after 90 days', () => {
    expect(problemsOf({ AUDIT_RETENTION_DAYS: '89' })).toEqual(['AUDIT_RETENTION_DAYS is less than 90, and not 0']);
    expect(loadConfig({ AUDIT_RETENTION_DAYS: '90' }).auditRetentionDays).toBe(90);
  });

  it('gives a development gateway on 127.0.0.1:8080 with embedded services when nothing is set', () => {
    expect(loadConfig({})).toEqual({
      production: false,
      logLevel: 'info',
      logRequests: 'failures',
      traces: {
        endpoint: null,
        headers: {},
        serviceName: 'inference-gateway',
        resource: {},
        ratio: 0.01,
        genaiConventions: 'latest',
        propagateTo: [],
      },
      management: { port: 0, token: null, commit: 'unknown' },
      dataDir: resolve('.data'),
      http: {
        host: '127.0.0.1',
        port: 8080,
        publicBaseUrl: null,
        maxRequestBytes: 10 * 1024 * 1024,
        maxMultipartBytes: 25 * 1024 * 1024,
        maxBufferedBytes: 134_217_728,
        overloadConcurrency: 2_048,
        trustProxy: false,
        ssePingMs: 15_000,
        sseMergeMs: 16,
        shutdownDelayMs: 0,
        drainTimeoutMs: 30_000,
      },
      databaseUrl: null,
      databaseDirectUrl: null,
      databaseReadUrl: null,
      migrateOnStart: true,
      redisUrl: null,
      redisSentinels: null,
      redisCluster: null,
      redisTimeoutMs: 250,
      database: { poolSize: 10, moneyPoolSize: 4, moneyLanes: 1 },
      ledgerAuditTimeoutMs: 60_000,
      ledgerCloseAfterDays: 3,
      ledgerRetentionDays: 0,
      auditRetentionDays: 0,
      storage: {
        backend: { type: 'local', signingSecret: null },
        signedUrlTtlSeconds: 3_600,
        retentionHours: { image: 48, video: 168, music: 168 },
      },
      jobs: { ttlSeconds: 86_400, retentionDays: 400 },
      worker: { inline: true, port: 8_081, concurrency: 20, leaseSeconds: 60, maxArtifactBytes: 536_870_912 },
      usage: { retentionDays: 400 },
      catalogDir: null,
      apiKeyPepper: null,
      secretsKeys: null,
      acceptUnchecksummedKeys: false,
      inference: {
        connectTimeoutMs: 5_000,
        firstTokenTimeoutMs: 30_000,
        replyTimeoutMs: 600_000,
        idleTimeoutMs: 60_000,
        totalTimeoutMs: 1_200_000,
        defaultMaxOutputTokens: 4_096,
      },
      routing: {
        strategy: 'priority',
        maxAttempts: 4,
        providerMaxConcurrency: 1_024,
        breakerFailures: 5,
        breakerOpenMs: 30_000,
      },
      limits: { global: NO_LIMITS, keyDefaults: NO_LIMITS, organizationDefaults: NO_LIMITS, keyReadsPerSecond: 50 },
      outbound: { allowCidrs: [], denyCidrs: [], denyHosts: [], nat64: false },
      dashboard: {
        url: null,
        cookieSecure: false,
        sessions: { idleMs: 1_800_000, absoluteMs: 43_200_000 },
        attemptsPerAddress: 100,
        changesPerMinute: 300,
        playgroundDailyBudgetMicro: 5_000_000,
      },
      payments: expect.objectContaining({ provider: 'test', stripe: null }) as object,
      mail: { smtpUrl: null, from: null },
      providerInstances: [],
      providers: {
        MOCK_PROVIDER: 'true',
        MOCK_MEDIA_PROVIDER: 'true',
        MOCK_MEDIA_DIR: resolve('.data/mock-media'),
      },
    });
  });

  it('listens on every interface and serves no mock models in production', () => {
    const config = loadConfig(production);
    expect(config.http.host).toBe('0.0.0.0');
    expect(config.providers.MOCK_PROVIDER).toBe('false');
  });

  it('opens the management port and announces a shutdown for five seconds in production', () => {
    const { management, http } = loadConfig({
      NODE_ENV: 'production',
      DATABASE_URL: 'postgres://db/gateway',
      REDIS_URL: 'redis://redis',
      API_KEY_PEPPER: 'p'.repeat(32),
      SECRETS_KEY: 'ab'.repeat(32),
    });
    expect([management.port, http.shutdownDelayMs]).toEqual([9_464, 5_000]);
  });

  it('refuses production without the services and the secrets, naming all four', () => {
    const problems = problemsOf({ NODE_ENV: 'production', REDIS_URL: '' });
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'DATABASE_URL',
      'REDIS_URL',
      'API_KEY_PEPPER',
      'SECRETS_KEY',
    ]);
  });

  it('reads the nodes of a Redis Cluster, which has no numbered databases', () => {
    const cluster = { ...production, REDIS_MODE: 'cluster' };
    expect(loadConfig(cluster)).toMatchObject({ redisSentinels: null, redisCluster: [] });
    expect(loadConfig({ ...cluster, REDIS_NODES: 'b:7001' }).redisCluster).toMatchObject([{ host: 'b', port: 7_001 }]);
    expect(problemsOf({ ...cluster, REDIS_URL: 'redis://a:7000/2' })).toEqual([expect.stringContaining('database 0')]);
    expect(problemsOf({ REDIS_MODE: 'cluster' })).toEqual([expect.stringMatching(/^REDIS_URL is not set/)]);
  });

  it('counts an empty variable as not set', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: '', OPENAI_API_KEY: '' })).toEqual(loadConfig({}));
  });

  it('names the variable, its value and what it accepts, for all invalid variables at once', () => {
    const problems = problemsOf({ PORT: '80a', LOG_LEVEL: 'loud', OPENAI_BASE_URL: 'localhost:11434' });
    expect(problems).toEqual([
      'LOG_LEVEL is "loud", but accepts one of fatal, error, warn, info, debug, trace, silent',
      'PORT is "80a", but accepts an integer from 0 to 65535',
      'OPENAI_BASE_URL is "localhost:11434", but accepts a URL that starts with http:// or https:// and has no query or fragment',
    ]);
  });

  it.each([
    ['DATABASE_URL', 'mysql://root:hunter2@db'],
    ['REDIS_URL', 'hunter2'],
    ['API_KEY_PEPPER', 'hunter2'],
    ['SECRETS_KEY', 'hunter2'],
    ['OPENAI_API_KEY', 'hunter2 hunter2'],
    ['STORAGE_SIGNING_SECRET', 'hunter2'],
    ['S3_SECRET_ACCESS_KEY', 'hunter2 hunter2'],
  ])('never shows an invalid %s', (name, value) => {
    const [problem] = problemsOf({ [name]: value });
    expect(problem).toContain(name);
    expect(problem).not.toContain('hunter2');
  });

  it.each(['-1', '1.5', '0x10', '65536', '1e3', ' 80', '99999999999999999999'])('refuses the port %j', (PORT) => {
    expect(problemsOf({ PORT })).toHaveLength(1);
  });

  it.each([
    ['false', false],
    ['2', 2],
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
  ])('reads TRUST_PROXY=%s', (text, expected) => {
    expect(loadConfig({ TRUST_PROXY: text }).http.trustProxy).toEqual(expected);
  });

  it.each(['true', '0', '33', '10.0.0.0/33', '0.0.0.0/0', '10.1', 'proxy.internal', '10.0.0.1,'])(
    'refuses TRUST_PROXY=%s',
    (text) => {
      expect(problemsOf({ TRUST_PROXY: text })).toHaveLength(1);
    },
  );

  it('reads the address policy for URLs of users and providers', () => {
    const { outbound } = loadConfig({
      OUTBOUND_ALLOW_CIDRS: '10.1.0.0/16, fd00::1',
      OUTBOUND_DENY_CIDRS: '8.8.8.8',
      OUTBOUND_DENY_HOSTS: 'Gateway.Example.com,example.net',
      OUTBOUND_NAT64: 'true',
    });
    expect(outbound).toEqual({
      allowCidrs: ['10.1.0.0/16', 'fd00::1'],
      denyCidrs: ['8.8.8.8'],
      denyHosts: ['gateway.example.com', 'example.net'],
      nat64: true,
    });
  });

  it.each([
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/8,0.0.0.0/0',
    '::ffff:0:0/96',
    '10.0.0.0/33',
    '010.0.0.0/8',
    '10.0.0.1,',
    'a',
  ])('refuses OUTBOUND_ALLOW_CIDRS=%s', (text) => expect(problemsOf({ OUTBOUND_ALLOW_CIDRS: text })).toHaveLength(1));

  it.each(['https://example.com', 'example.com/a', 'a b', '.example.com', 'example.com.', '*.example.com'])(
    'refuses OUTBOUND_DENY_HOSTS=%s',
    (text) => expect(problemsOf({ OUTBOUND_DENY_HOSTS: text })).toHaveLength(1),
  );

  it('stores outputs in the configured bucket, else on disk, and in production not at all', () => {
    expect(loadConfig({}).storage.backend.type).toBe('local');
    expect(loadConfig(production).storage.backend.type).toBe('none');
    expect(loadConfig({ ...production, S3_BUCKET: 'outputs' }).storage.backend.type).toBe('s3');
    expect(loadConfig({ STORAGE: 'none', S3_BUCKET: 'outputs' }).storage.backend.type).toBe('none');
  });

  it('reads an S3 bucket, with path-style addressing outside AWS', () => {
    const aws = { type: 's3', bucket: 'outputs', region: 'us-east-1', endpoint: null, publicEndpoint: null };
    expect(loadConfig({ S3_BUCKET: 'outputs' }).storage.backend).toEqual({
      ...aws,
      forcePathStyle: false,
      credentials: null,
    });
    const own = {
      S3_BUCKET: 'outputs',
      S3_ENDPOINT: 'http://minio:9000/',
      S3_ACCESS_KEY_ID: 'a',
      S3_SECRET_ACCESS_KEY: 'b',
    };
    expect(loadConfig(own).storage.backend).toEqual({
      ...aws,
      endpoint: 'http://minio:9000',
      forcePathStyle: true,
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    });
    expect(loadConfig({ ...own, S3_FORCE_PATH_STYLE: 'false' }).storage.backend).toMatchObject({
      forcePathStyle: false,
    });
  });

  it.each([
    [{ STORAGE: 's3' }, 'S3_BUCKET is not set, but STORAGE=s3 requires it'],
    [
      { S3_BUCKET: 'outputs', S3_ACCESS_KEY_ID: 'a' },
      'S3_SECRET_ACCESS_KEY is not set, but S3_ACCESS_KEY_ID requires it',
    ],
    [
      { S3_BUCKET: 'outputs', S3_SECRET_ACCESS_KEY: 'a' },
      'S3_ACCESS_KEY_ID is not set, but S3_SECRET_ACCESS_KEY requires it',
    ],
    [{ ...production, STORAGE: 'local' }, 'PUBLIC_BASE_URL is not set, but STORAGE=local in production requires it'],
    [{ IMAGE_RETENTION_HOURS: '24' }, 'IMAGE_RETENTION_HOURS is "24", but accepts an integer from 25 to 8760'],
    [{ S3_BUCKET: '../outputs' }, 'S3_BUCKET is "../outputs", but accepts the name of a bucket'],
  ])('refuses a storage that cannot work: %j', (environment, problem) => {
    expect(problemsOf(environment)).toEqual([expect.stringContaining(problem)]);
  });

  it('removes trailing slashes from base URLs', () => {
    const config = loadConfig({ PUBLIC_BASE_URL: 'https://ai.example/', OPENAI_BASE_URL: 'http://[::1]:8000/v1//' });
    expect(config.http.publicBaseUrl).toBe('https://ai.example');
    expect(config.providers.OPENAI_BASE_URL).toBe('http://[::1]:8000/v1');
  });

  it('makes paths absolute', () => {
    const config = loadConfig({ DATA_DIR: 'data', CATALOG_DIR: '/etc/gateway/catalog' });
    expect(config.dataDir).toBe(resolve('data'));
    expect(config.catalogDir).toBe('/etc/gateway/catalog');
  });

  it('cannot be changed afterwards', () => {
    const config = loadConfig({});
    expect(() => Object.assign(config.http, { port: 1 })).toThrow(TypeError);
    expect(() => Object.assign(config.providers, { ACME_API_KEY: 'k' })).toThrow(TypeError);
  });
});

describe('readEnvironment', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-config-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  it('prefers the real environment over the file', () => {
    const file = join(directory, '.env');
    writeFileSync(file, '# a comment\nPORT=9000\nLOG_LEVEL="debug"\n');
    expect(readEnvironment(file, { PORT: '9001' })).toEqual({ PORT: '9001', LOG_LEVEL: 'debug' });
  });

  it('needs no file', () => {
    expect(readEnvironment(join(directory, 'missing'), { PORT: '1' })).toEqual({ PORT: '1' });
  });

  // Docker makes a directory where the file of a bind mount does not exist.
  it('names a file that cannot be read', () => {
    expect(() => readEnvironment(directory, {})).toThrow(
      new ConfigurationError([`${directory} cannot be read: EISDIR`]),
    );
  });
});

describe('variables of other programs', () => {
  it.each([
    ['VITE_BASE_URL', '/'],
    ['CI_REGISTRY_BASE_URL', 'registry.example.com'],
    ['SOME_TOOL_API_KEY', 'two words'],
  ])('are accepted without validation: %s=%s', (name, value) => {
    expect(() => loadConfig({ [name]: value })).not.toThrow();
  });
});
