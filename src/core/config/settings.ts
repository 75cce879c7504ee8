import { DASHBOARD_SETTINGS } from './dashboard-settings';
import { LIMIT_SETTINGS } from './limit-settings';
import { PAYMENT_SETTINGS } from './payment-settings';
import {
  baseUrl,
  choice,
  encryptionKeys,
  host,
  hostNames,
  integer,
  ipRanges,
  name,
  path,
  secret,
  serverUrl,
  trustedProxies,
} from './setting';

const ONE_HOUR_MS = 3_600_000;
const TIMEOUT_RANGE = { min: 1, max: ONE_HOUR_MS };
const RETENTION_RANGE = { min: 1, max: 8_760 };

/** Every variable of the gateway. `.env.example` lists the same with the same defaults, which a spec checks. */
export const SETTINGS = {
  environment: choice(
    'NODE_ENV',
    ['development', 'production', 'test'],
    'development',
    'production embeds nothing and refuses to start without DATABASE_URL, REDIS_URL, API_KEY_PEPPER and SECRETS_KEY',
  ),
  logLevel: choice(
    'LOG_LEVEL',
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'Lowest severity of messages in the log',
  ),
  port: integer('PORT', { min: 0, max: 65_535, fallback: 8_080 }, 'Port of the API; 0 takes any free port'),
  host: host('HOST', null, 'Address to listen on; when not set 127.0.0.1, in production 0.0.0.0'),
  publicBaseUrl: baseUrl(
    'PUBLIC_BASE_URL',
    'How clients reach the gateway: default server of the served OpenAPI document',
  ),
  trustProxy: trustedProxies('TRUST_PROXY', 'Proxies whose X-Forwarded-For is trusted to name the caller'),
  maxRequestBytes: integer(
    'MAX_REQUEST_BYTES',
    { min: 1_024, max: 268_435_456, fallback: 10_485_760 },
    'Largest JSON body in bytes',
  ),
  maxMultipartBytes: integer(
    'MAX_MULTIPART_BYTES',
    { min: 1_024, max: 268_435_456, fallback: 26_214_400 },
    'Largest form with files in bytes',
  ),
  maxBufferedBytes: integer(
    'MAX_BUFFERED_BYTES',
    { min: 1_024, max: 68_719_476_736, fallback: 134_217_728 },
    'Memory for all request bodies in flight and images fetched for them, at most 3/4 for one organization; beyond it: 503',
  ),
  overloadConcurrency: integer(
    'OVERLOAD_CONCURRENCY',
    { min: 0, max: 1_000_000, fallback: 2_048 },
    'Requests in flight from which a busy process refuses new ones with 503; 0 disables the limit',
  ),
  ssePingMs: integer(
    'SSE_PING_MS',
    { min: 100, max: ONE_HOUR_MS, fallback: 15_000 },
    'Silence after which a stream sends a ping',
  ),
  drainTimeoutMs: integer(
    'DRAIN_TIMEOUT_MS',
    { min: 0, max: ONE_HOUR_MS, fallback: 30_000 },
    'How long a shutdown waits for requests in flight',
  ),
  dataDir: path('DATA_DIR', '.data', 'Directory of the embedded services and generated secrets'),
  databaseUrl: serverUrl(
    'DATABASE_URL',
    ['postgres', 'postgresql'],
    'PostgreSQL 15 or later; an embedded one when not set',
  ),
  databasePoolSize: integer(
    'DATABASE_POOL_SIZE',
    { min: 1, max: 500, fallback: 10 },
    'Connections of the general pool',
  ),
  moneyPoolSize: integer(
    'MONEY_POOL_SIZE',
    { min: 4, max: 100, fallback: 4 },
    'Connections of the pool for reservations and settlements',
  ),
  ledgerAuditTimeoutMs: integer(
    'LEDGER_AUDIT_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 60_000 },
    'Time limit of one periodic audit of the ledger',
  ),
  redisUrl: serverUrl('REDIS_URL', ['redis', 'rediss'], 'Redis 7 or later; an embedded one when not set'),
  redisTimeoutMs: integer(
    'REDIS_TIMEOUT_MS',
    { min: 10, max: 60_000, fallback: 250 },
    'For an answer of Redis; requests that spend wait so long before they get a 503',
  ),
  apiKeyPepper: secret(
    'API_KEY_PEPPER',
    'Keys the stored digests of API keys; generated into DATA_DIR when not set',
    32,
  ),
  secretsKeys: encryptionKeys(
    'SECRETS_KEY',
    'Encrypts stored secrets, such as those of webhooks; generated into DATA_DIR when not set',
  ),
  acceptUnchecksummedKeys: choice(
    'ACCEPT_UNCHECKSUMMED_KEYS',
    ['true', 'false'],
    'false',
    'Accepts API keys without a checksum, for deployments that insert keys of their own',
  ),
  storage: choice(
    'STORAGE',
    ['none', 'local', 's3'],
    null,
    'Object storage for outputs; when not set: s3 with S3_BUCKET, else local, in production none',
  ),
  signedUrlTtlSeconds: integer(
    'SIGNED_URL_TTL_SECONDS',
    // The S3 maximum.
    { min: 60, max: 604_800, fallback: 3_600 },
    'How long the signed URL of an output is valid',
  ),
  storageSigningSecret: secret(
    'STORAGE_SIGNING_SECRET',
    'Signs the URLs of local outputs; derived from API_KEY_PEPPER when not set',
    32,
  ),
  s3Bucket: name('S3_BUCKET', /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket', null, 'Bucket for outputs'),
  s3Region: name('S3_REGION', /^[A-Za-z0-9-]{1,64}$/, 'the name of a region', 'us-east-1', 'Region of the bucket'),
  s3Endpoint: baseUrl('S3_ENDPOINT', 'S3-compatible server; AWS when not set'),
  s3PublicEndpoint: baseUrl('S3_PUBLIC_ENDPOINT', 'The same server as clients reach it, if that differs'),
  s3ForcePathStyle: choice(
    'S3_FORCE_PATH_STYLE',
    ['true', 'false'],
    null,
    'Path-style bucket addressing; when not set: true with S3_ENDPOINT',
  ),
  s3AccessKeyId: secret(
    'S3_ACCESS_KEY_ID',
    'Access key; when not set the AWS SDK finds credentials, such as those of a role',
  ),
  s3SecretAccessKey: secret('S3_SECRET_ACCESS_KEY', 'Secret key that belongs to S3_ACCESS_KEY_ID'),
  imageRetentionHours: integer(
    'IMAGE_RETENTION_HOURS',
    // With a shorter time, idempotent replays would contain dead URLs.
    { min: 25, max: RETENTION_RANGE.max, fallback: 48 },
    'How long images are kept',
  ),
  videoRetentionHours: integer(
    'VIDEO_RETENTION_HOURS',
    { ...RETENTION_RANGE, fallback: 168 },
    'How long videos are kept',
  ),
  musicRetentionHours: integer(
    'MUSIC_RETENTION_HOURS',
    { ...RETENTION_RANGE, fallback: 168 },
    'How long music is kept',
  ),
  jobTtlSeconds: integer(
    'JOB_TTL_SECONDS',
    { min: 1, max: 604_800, fallback: 86_400 },
    'How long a video or music job may take before it expires, free of charge',
  ),
  worker: choice(
    'WORKER',
    ['inline', 'none'],
    'inline',
    'Whether the gateway runs video and music jobs itself; none leaves them to start:worker processes',
  ),
  workerPort: integer(
    'WORKER_PORT',
    { min: 0, max: 65_535, fallback: 8_081 },
    'Port of the probes of a worker; 0 takes any free port',
  ),
  workerConcurrency: integer(
    'WORKER_CONCURRENCY',
    { min: 1, max: 10_000, fallback: 20 },
    'Jobs that a process runs at once, at most half of them on one deployment',
  ),
  workerLeaseSeconds: integer(
    'WORKER_LEASE_SECONDS',
    { min: 1, max: 3_600, fallback: 60 },
    'How long a worker may miss its heartbeat before another one takes over its jobs',
  ),
  maxArtifactBytes: integer(
    'MAX_ARTIFACT_BYTES',
    { min: 1_024, max: 68_719_476_736, fallback: 536_870_912 },
    'Largest artifact that is copied from a provider',
  ),
  usageRetentionDays: integer(
    'USAGE_RETENTION_DAYS',
    { min: 0, max: 36_500, fallback: 400 },
    'How long the receipts of single requests are kept; 0 keeps them. Totals are always kept',
  ),
  catalogDir: path('CATALOG_DIR', null, 'Directory of model catalogue files that are merged over the built-in ones'),
  defaultMaxOutputTokens: integer(
    'DEFAULT_MAX_OUTPUT_TOKENS',
    { min: 1, max: 1_000_000, fallback: 4_096 },
    'Output tokens that are reserved for a request that names no limit',
  ),
  connectTimeoutMs: integer(
    'UPSTREAM_CONNECT_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 5_000 },
    'Time limit of the connection to a provider',
  ),
  firstTokenTimeoutMs: integer(
    'UPSTREAM_FIRST_TOKEN_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 30_000 },
    'From a request to the first event of a streamed answer, where the catalogue names no other',
  ),
  replyTimeoutMs: integer(
    'UPSTREAM_REPLY_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 600_000 },
    'Time limit from a request to the end of an answer that is not streamed',
  ),
  idleTimeoutMs: integer(
    'UPSTREAM_IDLE_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 60_000 },
    'For silence within an answer, where the catalogue names no other',
  ),
  totalTimeoutMs: integer(
    'UPSTREAM_TOTAL_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 1_200_000 },
    'Time limit of a whole answer',
  ),
  routingStrategy: choice(
    'ROUTING_STRATEGY',
    ['priority', 'price', 'latency', 'throughput', 'weighted'],
    'priority',
    'Default order of the deployments of a model',
  ),
  maxAttempts: integer('MAX_ATTEMPTS', { min: 1, max: 8, fallback: 4 }, 'Default number of provider calls per request'),
  providerMaxConcurrency: integer(
    'PROVIDER_MAX_CONCURRENCY',
    { min: 1, max: 100_000, fallback: 1_024 },
    'Calls in flight at one provider, per process',
  ),
  breakerFailures: integer(
    'CIRCUIT_BREAKER_FAILURES',
    { min: 0, max: 1_000, fallback: 5 },
    'Consecutive failures that open the circuit breaker of a deployment; 0 disables it',
  ),
  breakerOpenMs: integer(
    'CIRCUIT_BREAKER_OPEN_MS',
    { ...TIMEOUT_RANGE, fallback: 30_000 },
    'How long the circuit breaker stays open before one probe call',
  ),
  ...LIMIT_SETTINGS,
  ...DASHBOARD_SETTINGS,
  ...PAYMENT_SETTINGS,
  outboundAllowCidrs: ipRanges('OUTBOUND_ALLOW_CIDRS', 'Private addresses that images, artifacts and webhooks may use'),
  outboundDenyCidrs: ipRanges(
    'OUTBOUND_DENY_CIDRS',
    'Public addresses that they may not use, such as those of this deployment',
  ),
  outboundDenyHosts: hostNames('OUTBOUND_DENY_HOSTS', 'Hosts that they may not use, including all subdomains'),
  outboundNat64: choice(
    'OUTBOUND_NAT64',
    ['true', 'false'],
    'false',
    'Treats DNS answers within 64:ff9b::/96 as IPv4 addresses, for IPv6-only networks',
  ),
  mockProvider: choice(
    'MOCK_PROVIDER',
    ['true', 'false'],
    null,
    'Serves the mock models; when not set true, in production false',
  ),
  mockMediaProvider: choice(
    'MOCK_MEDIA_PROVIDER',
    ['true', 'false'],
    null,
    'Serves mock video and music; when not set true with the embedded services, else false',
  ),
  mockMediaDir: path('MOCK_MEDIA_DIR', null, 'Directory of their jobs; mock-media in DATA_DIR when not set'),
  openaiApiKey: secret('OPENAI_API_KEY', 'Enables the OpenAI models'),
  openaiBaseUrl: baseUrl('OPENAI_BASE_URL', 'Another base URL of OpenAI, such as a regional one'),
  openaiCompatibleBaseUrl: baseUrl(
    'OPENAI_COMPATIBLE_BASE_URL',
    'Any OpenAI-compatible server, such as vLLM or Ollama',
  ),
  openaiCompatibleApiKey: secret('OPENAI_COMPATIBLE_API_KEY', 'API key of that server, if it requires one'),
};
