/**
 * Reads the environment into the one `AppConfig`. Nothing else in the service touches `process.env`. An invalid
 * environment fails the start with a list of every wrong setting.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { AppConfig, StorageBackend } from './app-config';
import type { ProviderEnvironment } from './provider-environment';
import { readDashboard, readMail } from './read-dashboard';
import { readPayments } from './read-payments';
import { baseUrl, secret } from './setting';
import { type Environment, SettingReader } from './setting-reader';
import { SETTINGS } from './settings';

export { ConfigurationError, type Environment } from './setting-reader';

/** The process environment over an optional `.env` file in the working directory. */
export function readEnvironment(file = resolve('.env'), processEnvironment: Environment = process.env): Environment {
  const content = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return { ...parseEnv(content), ...processEnvironment };
}

/**
 * The frozen settings of this process. An empty variable counts as one that is not set.
 *
 * @throws ConfigurationError naming every variable that is wrong or missing, and what it accepts
 */
export function loadConfig(environment: Environment = readEnvironment()): AppConfig {
  const reader = new SettingReader(environment);
  const read = reader.read.bind(reader);
  const production = read(SETTINGS.environment) === 'production';
  if (production) {
    reader.require([SETTINGS.databaseUrl, SETTINGS.redisUrl, SETTINGS.apiKeyPepper, SETTINGS.secretsKeys]);
  }
  const dataDir = resolve(read(SETTINGS.dataDir));
  const databaseUrl = read(SETTINGS.databaseUrl);
  const redisUrl = read(SETTINGS.redisUrl);
  const isEmbedded = databaseUrl === null && redisUrl === null;
  const config: AppConfig = {
    production,
    logLevel: read(SETTINGS.logLevel),
    dataDir,
    http: readHttp(reader, production),
    databaseUrl,
    redisUrl,
    redisTimeoutMs: read(SETTINGS.redisTimeoutMs),
    database: { poolSize: read(SETTINGS.databasePoolSize), moneyPoolSize: read(SETTINGS.moneyPoolSize) },
    ledgerAuditTimeoutMs: read(SETTINGS.ledgerAuditTimeoutMs),
    storage: readStorage(reader, production),
    jobs: { ttlSeconds: read(SETTINGS.jobTtlSeconds) },
    worker: readWorker(reader),
    usage: { retentionDays: read(SETTINGS.usageRetentionDays) },
    catalogDir: read(SETTINGS.catalogDir),
    apiKeyPepper: read(SETTINGS.apiKeyPepper),
    secretsKeys: read(SETTINGS.secretsKeys),
    acceptUnchecksummedKeys: read(SETTINGS.acceptUnchecksummedKeys) === 'true',
    inference: {
      connectTimeoutMs: read(SETTINGS.connectTimeoutMs),
      firstTokenTimeoutMs: read(SETTINGS.firstTokenTimeoutMs),
      replyTimeoutMs: read(SETTINGS.replyTimeoutMs),
      idleTimeoutMs: read(SETTINGS.idleTimeoutMs),
      totalTimeoutMs: read(SETTINGS.totalTimeoutMs),
      defaultMaxOutputTokens: read(SETTINGS.defaultMaxOutputTokens),
    },
    routing: readRouting(reader),
    limits: readLimits(reader),
    outbound: readOutbound(reader),
    dashboard: readDashboard(reader, production),
    payments: readPayments(reader, { production, isEmbedded }),
    mail: readMail(reader),
    providers: {
      ...readProviders(environment, reader),
      [SETTINGS.mockProvider.name]: read(SETTINGS.mockProvider) ?? (production ? 'false' : 'true'),
      ...readMockMedia(reader, dataDir, isEmbedded),
    },
  };
  for (const largest of [SETTINGS.maxRequestBytes, SETTINGS.maxMultipartBytes]) {
    if (config.http.maxBufferedBytes >= 2 * read(largest)) continue;
    reader.note(`${SETTINGS.maxBufferedBytes.name} is less than twice ${largest.name}`);
  }
  reader.throwProblems();
  return deepFreeze(config);
}

/** Its output looks real, so a deployment with external services has to enable it explicitly. */
function readMockMedia(reader: SettingReader, dataDir: string, isEmbedded: boolean): ProviderEnvironment {
  return {
    [SETTINGS.mockMediaProvider.name]: reader.read(SETTINGS.mockMediaProvider) ?? (isEmbedded ? 'true' : 'false'),
    [SETTINGS.mockMediaDir.name]: reader.read(SETTINGS.mockMediaDir) ?? join(dataDir, 'mock-media'),
  };
}

function readHttp(reader: SettingReader, production: boolean): AppConfig['http'] {
  const read = reader.read.bind(reader);
  return {
    host: read(SETTINGS.host) ?? (production ? '0.0.0.0' : '127.0.0.1'),
    port: read(SETTINGS.port),
    publicBaseUrl: read(SETTINGS.publicBaseUrl),
    maxRequestBytes: read(SETTINGS.maxRequestBytes),
    maxMultipartBytes: read(SETTINGS.maxMultipartBytes),
    maxBufferedBytes: read(SETTINGS.maxBufferedBytes),
    overloadConcurrency: read(SETTINGS.overloadConcurrency),
    trustProxy: read(SETTINGS.trustProxy),
    ssePingMs: read(SETTINGS.ssePingMs),
    drainTimeoutMs: read(SETTINGS.drainTimeoutMs),
  };
}

function readRouting(reader: SettingReader): AppConfig['routing'] {
  const read = reader.read.bind(reader);
  return {
    strategy: read(SETTINGS.routingStrategy),
    maxAttempts: read(SETTINGS.maxAttempts),
    providerMaxConcurrency: read(SETTINGS.providerMaxConcurrency),
    breakerFailures: read(SETTINGS.breakerFailures),
    breakerOpenMs: read(SETTINGS.breakerOpenMs),
  };
}

function readWorker(reader: SettingReader): AppConfig['worker'] {
  const read = reader.read.bind(reader);
  return {
    inline: read(SETTINGS.worker) === 'inline',
    port: read(SETTINGS.workerPort),
    concurrency: read(SETTINGS.workerConcurrency),
    leaseSeconds: read(SETTINGS.workerLeaseSeconds),
    maxArtifactBytes: read(SETTINGS.maxArtifactBytes),
  };
}

function readStorage(reader: SettingReader, production: boolean): AppConfig['storage'] {
  const read = reader.read.bind(reader);
  return {
    backend: readStorageBackend(reader, production),
    signedUrlTtlSeconds: read(SETTINGS.signedUrlTtlSeconds),
    retentionHours: {
      image: read(SETTINGS.imageRetentionHours),
      video: read(SETTINGS.videoRetentionHours),
      music: read(SETTINGS.musicRetentionHours),
    },
  };
}

function readStorageBackend(reader: SettingReader, production: boolean): StorageBackend {
  const read = reader.read.bind(reader);
  const signingSecret = read(SETTINGS.storageSigningSecret);
  const bucket = read(SETTINGS.s3Bucket);
  const endpoint = read(SETTINGS.s3Endpoint);
  const forcePathStyle = read(SETTINGS.s3ForcePathStyle);
  const accessKeyId = read(SETTINGS.s3AccessKeyId);
  const secretAccessKey = read(SETTINGS.s3SecretAccessKey);
  const s3 = {
    type: 's3',
    bucket: bucket ?? '',
    region: read(SETTINGS.s3Region),
    endpoint,
    publicEndpoint: read(SETTINGS.s3PublicEndpoint),
    forcePathStyle: forcePathStyle === null ? endpoint !== null : forcePathStyle === 'true',
    credentials: accessKeyId !== null && secretAccessKey !== null ? { accessKeyId, secretAccessKey } : null,
  } as const;
  const type = read(SETTINGS.storage) ?? (bucket !== null ? 's3' : production ? 'none' : 'local');
  if (type === 'none') return { type };
  if (type === 'local') {
    // Signed URLs are built from it, and production clients are on other machines.
    if (production) reader.require([SETTINGS.publicBaseUrl], 'STORAGE=local in production');
    return { type, signingSecret };
  }
  reader.require([SETTINGS.s3Bucket], 'STORAGE=s3');
  if (accessKeyId !== null) reader.require([SETTINGS.s3SecretAccessKey], SETTINGS.s3AccessKeyId.name);
  if (secretAccessKey !== null) reader.require([SETTINGS.s3AccessKeyId], SETTINGS.s3SecretAccessKey.name);
  return s3;
}

function readOutbound(reader: SettingReader): AppConfig['outbound'] {
  const read = reader.read.bind(reader);
  return {
    allowCidrs: read(SETTINGS.outboundAllowCidrs) ?? [],
    denyCidrs: read(SETTINGS.outboundDenyCidrs) ?? [],
    denyHosts: read(SETTINGS.outboundDenyHosts) ?? [],
    nat64: read(SETTINGS.outboundNat64) === 'true',
  };
}

function readLimits(reader: SettingReader): AppConfig['limits'] {
  const read = reader.read.bind(reader);
  return {
    global: {
      requestsPerSecond: read(SETTINGS.globalRequestsPerSecond),
      requestsPerMinute: read(SETTINGS.globalRequestsPerMinute),
      tokensPerMinute: read(SETTINGS.globalTokensPerMinute),
      concurrency: read(SETTINGS.globalConcurrency),
    },
    keyDefaults: {
      requestsPerSecond: read(SETTINGS.keyRequestsPerSecond),
      requestsPerMinute: read(SETTINGS.keyRequestsPerMinute),
      tokensPerMinute: read(SETTINGS.keyTokensPerMinute),
      concurrency: read(SETTINGS.keyConcurrency),
    },
    organizationDefaults: {
      requestsPerSecond: read(SETTINGS.organizationRequestsPerSecond),
      requestsPerMinute: read(SETTINGS.organizationRequestsPerMinute),
      tokensPerMinute: read(SETTINGS.organizationTokensPerMinute),
      concurrency: read(SETTINGS.organizationConcurrency),
    },
    keyReadsPerSecond: read(SETTINGS.keyReadsPerSecond),
  };
}

/** Named like provider variables, but not provider settings. */
const OTHER_ADDRESSES: ReadonlySet<string> = new Set([SETTINGS.publicBaseUrl.name, SETTINGS.stripeApiBaseUrl.name]);
const KNOWN_NAMES: ReadonlySet<string> = new Set(Object.values(SETTINGS).map(({ name }) => name));

/**
 * Provider modules read their own variables, recognized here by suffix only. Variables in the table are validated;
 * others may belong to another program, so the provider that reads them validates them.
 */
function readProviders(environment: Environment, reader: SettingReader): ProviderEnvironment {
  const providers: Record<string, string> = {};
  for (const [name, text] of Object.entries(environment)) {
    if (OTHER_ADDRESSES.has(name) || !/_(?:API_KEY|BASE_URL)$/.test(name) || !text) continue;
    const setting = name.endsWith('_BASE_URL') ? baseUrl(name, '') : secret(name, '');
    const value = KNOWN_NAMES.has(name) ? reader.read(setting) : text;
    if (value !== null) providers[name] = value;
  }
  return providers;
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) {
      deepFreeze(part);
    }
  }
  return Object.freeze(value);
}
