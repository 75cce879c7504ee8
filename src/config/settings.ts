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
    'The least severe messages that are written',
  ),
  port: integer('PORT', { min: 0, max: 65_535, fallback: 8_080 }, 'Port of the API; 0 takes any free one'),
  host: host('HOST', null, 'Address to listen on; when not set 127.0.0.1, in production 0.0.0.0'),
  publicBaseUrl: baseUrl(
    'PUBLIC_BASE_URL',
    'How clients reach the gateway: default server of the served OpenAPI document',
  ),
  trustProxy: trustedProxies('TRUST_PROXY', 'Proxies whose X-Forwarded-For names the caller, as allowed_ips needs'),
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
    'Bytes for all bodies under way and images fetched for them, those of one organization 3/4 of it; beyond: 503',
  ),
  overloadConcurrency: integer(
    'OVERLOAD_CONCURRENCY',
    { min: 0, max: 1_000_000, fallback: 2_048 },
    'Requests in flight at which a process that is never idle turns new ones away; 0: at none',
  ),
  ssePingMs: integer(
    'SSE_PING_MS',
    { min: 100, max: ONE_HOUR_MS, fallback: 15_000 },
    'Silence after which a stream sends a ping',
  ),
  drainTimeoutMs: integer(
    'DRAIN_TIMEOUT_MS',
    { min: 0, max: ONE_HOUR_MS, fallback: 30_000 },
    'How long a stop waits for requests in flight',
  ),
  dataDir: path('DATA_DIR', '.data', 'Holds the embedded services and generated secrets'),
  databaseUrl: serverUrl(
    'DATABASE_URL',
    ['postgres', 'postgresql'],
    'PostgreSQL 15 or later; an embedded one when not set',
  ),
  databasePoolSize: integer(
    'DATABASE_POOL_SIZE',
    { min: 1, max: 500, fallback: 10 },
    'Connections for everything but money',
  ),
  moneyPoolSize: integer(
    'MONEY_POOL_SIZE',
    { min: 4, max: 100, fallback: 4 },
    'Connections for reservations and settlements',
  ),
  redisUrl: serverUrl('REDIS_URL', ['redis', 'rediss'], 'Redis 7 or later; an embedded one when not set'),
  apiKeyPepper: secret(
    'API_KEY_PEPPER',
    'Keys the stored digests of API keys; when not set one is generated into DATA_DIR',
    32,
  ),
  secretsKeys: encryptionKeys(
    'SECRETS_KEY',
    'Encrypts stored secrets, such as those of webhooks; when not set a key is generated into DATA_DIR',
  ),
  acceptUnchecksummedKeys: choice(
    'ACCEPT_UNCHECKSUMMED_KEYS',
    ['true', 'false'],
    'false',
    'Also looks up keys that this service did not make, for deployments that insert their own',
  ),
  storage: choice(
    'STORAGE',
    ['none', 'local', 's3'],
    null,
    'Where outputs are kept; when not set s3 with S3_BUCKET, else local, but in production none',
  ),
  signedUrlTtlSeconds: integer(
    'SIGNED_URL_TTL_SECONDS',
    // The longest that S3 allows.
    { min: 60, max: 604_800, fallback: 3_600 },
    'How long the address of an output can be fetched',
  ),
  storageSigningSecret: secret(
    'STORAGE_SIGNING_SECRET',
    'Signs the addresses of local outputs; when not set a key derived from that of the API keys does',
    32,
  ),
  s3Bucket: name('S3_BUCKET', /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket', null, 'Holds the outputs'),
  s3Region: name('S3_REGION', /^[A-Za-z0-9-]{1,64}$/, 'the name of a region', 'us-east-1', 'Region of the bucket'),
  s3Endpoint: baseUrl('S3_ENDPOINT', 'A server with the API of S3; when not set that of AWS'),
  s3PublicEndpoint: baseUrl('S3_PUBLIC_ENDPOINT', 'The same server as clients reach it, where that is another address'),
  s3ForcePathStyle: choice(
    'S3_FORCE_PATH_STYLE',
    ['true', 'false'],
    null,
    'Names the bucket in the path instead of the host; when not set true with S3_ENDPOINT',
  ),
  s3AccessKeyId: secret('S3_ACCESS_KEY_ID', 'When not set the AWS SDK looks for credentials, such as those of a role'),
  s3SecretAccessKey: secret('S3_SECRET_ACCESS_KEY', 'Belongs to S3_ACCESS_KEY_ID'),
  imageRetentionHours: integer(
    'IMAGE_RETENTION_HOURS',
    // Shorter, and an answer that is repeated for its Idempotency-Key would lead to nothing.
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
    'How long a video or music job may take before it expires and costs nothing',
  ),
  worker: choice(
    'WORKER',
    ['inline', 'none'],
    'inline',
    'Whether the gateway works on video and music jobs itself; none leaves them to processes of start:worker',
  ),
  workerPort: integer(
    'WORKER_PORT',
    { min: 0, max: 65_535, fallback: 8_081 },
    'Port of the probes of start:worker; 0 takes any free one',
  ),
  workerConcurrency: integer(
    'WORKER_CONCURRENCY',
    { min: 1, max: 10_000, fallback: 20 },
    'Jobs that a process works on at once; one deployment takes half of them at most',
  ),
  workerLeaseSeconds: integer(
    'WORKER_LEASE_SECONDS',
    { min: 1, max: 3_600, fallback: 60 },
    'How long a worker may be silent before another one takes over its jobs',
  ),
  maxArtifactBytes: integer(
    'MAX_ARTIFACT_BYTES',
    { min: 1_024, max: 68_719_476_736, fallback: 536_870_912 },
    'Largest file that is taken over from a provider as the result of a job',
  ),
  usageRetentionDays: integer(
    'USAGE_RETENTION_DAYS',
    { min: 0, max: 36_500, fallback: 400 },
    'How long the receipts of single requests are kept; 0: for ever. What they add up to always is',
  ),
  catalogDir: path('CATALOG_DIR', null, 'Model catalogue files that are merged over the built-in ones'),
  defaultMaxOutputTokens: integer(
    'DEFAULT_MAX_OUTPUT_TOKENS',
    { min: 1, max: 1_000_000, fallback: 4_096 },
    'Output tokens that are reserved for a request that names no limit',
  ),
  connectTimeoutMs: integer(
    'UPSTREAM_CONNECT_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 5_000 },
    'For the connection to a provider',
  ),
  firstTokenTimeoutMs: integer(
    'UPSTREAM_FIRST_TOKEN_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 120_000 },
    'From a request to the first event of a streamed answer',
  ),
  replyTimeoutMs: integer(
    'UPSTREAM_REPLY_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 600_000 },
    'From a request to the end of its answer, where that is not streamed',
  ),
  idleTimeoutMs: integer(
    'UPSTREAM_IDLE_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 90_000 },
    'For silence within an answer',
  ),
  totalTimeoutMs: integer(
    'UPSTREAM_TOTAL_TIMEOUT_MS',
    { ...TIMEOUT_RANGE, fallback: 1_200_000 },
    'For a whole answer of a provider',
  ),
  routingStrategy: choice(
    'ROUTING_STRATEGY',
    ['priority', 'price', 'latency', 'throughput', 'weighted'],
    'priority',
    'How the deployments of a model are ordered for requests that do not say',
  ),
  maxAttempts: integer(
    'MAX_ATTEMPTS',
    { min: 1, max: 8, fallback: 4 },
    'Calls to providers for one request that does not say',
  ),
  providerMaxConcurrency: integer(
    'PROVIDER_MAX_CONCURRENCY',
    { min: 1, max: 100_000, fallback: 1_024 },
    'Calls in flight at one provider, per process',
  ),
  breakerFailures: integer(
    'CIRCUIT_BREAKER_FAILURES',
    { min: 0, max: 1_000, fallback: 5 },
    'Failures in a row after which a deployment is left alone; with 0 none ever is',
  ),
  breakerOpenMs: integer(
    'CIRCUIT_BREAKER_OPEN_MS',
    { ...TIMEOUT_RANGE, fallback: 30_000 },
    'How long it is left alone before one call tries again',
  ),
  ...LIMIT_SETTINGS,
  ...DASHBOARD_SETTINGS,
  ...PAYMENT_SETTINGS,
  outboundAllowCidrs: ipRanges(
    'OUTBOUND_ALLOW_CIDRS',
    'Private addresses that images, artifacts and webhooks may be on',
  ),
  outboundDenyCidrs: ipRanges(
    'OUTBOUND_DENY_CIDRS',
    'Public addresses that they may not be on, such as those of this deployment',
  ),
  outboundDenyHosts: hostNames('OUTBOUND_DENY_HOSTS', 'Hosts that they may not be on, with all names below them'),
  outboundNat64: choice(
    'OUTBOUND_NAT64',
    ['true', 'false'],
    'false',
    'DNS answers within 64:ff9b::/96 stand for IPv4 addresses, as in networks that have IPv6 only',
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
  mockMediaDir: path('MOCK_MEDIA_DIR', null, 'Holds their jobs; when not set mock-media in DATA_DIR'),
  openaiApiKey: secret('OPENAI_API_KEY', 'Enables the OpenAI models'),
  openaiBaseUrl: baseUrl('OPENAI_BASE_URL', 'Another address of OpenAI, such as a regional one'),
  openaiCompatibleBaseUrl: baseUrl(
    'OPENAI_COMPATIBLE_BASE_URL',
    'Any server with the same API, such as vLLM or Ollama',
  ),
  openaiCompatibleApiKey: secret('OPENAI_COMPATIBLE_API_KEY', 'Its key, where it asks for one'),
};
