import { z } from 'zod';
import { DASHBOARD_SETTINGS } from './dashboard-settings';
import { LIMIT_SETTINGS } from './limit-settings';
import { OBSERVABILITY_SETTINGS } from './observability-settings';
import { PAYMENT_SETTINGS } from './payment-settings';
import { PROVIDER_SETTINGS } from './provider-settings';
import {
  baseUrl,
  choice,
  encryptionKeys,
  flag,
  host,
  hostNames,
  integer,
  ipRanges,
  matching,
  optional,
  path,
  redisNodes,
  secret,
  serverUrl,
  trustedProxies,
} from './setting-kinds';

const ONE_HOUR_MS = 3_600_000;
const MAX_RETENTION_HOURS = 8_760;
const timeoutMs = integer(1, ONE_HOUR_MS);
/** After this long, undici abandons a connection attempt itself. */
const MAX_CONNECT_TIMEOUT_MS = 10_000;
const retentionHours = integer(1, MAX_RETENTION_HOURS);

/**
 * Every variable of the gateway. `.env.example` and the READMEs list the same with the same defaults, which a test
 * checks.
 */
export const SETTINGS = z.object({
  NODE_ENV: choice(['development', 'production', 'test'])
    .default('development')
    .describe(
      'production starts no embedded services and requires DATABASE_URL, REDIS_URL, API_KEY_PEPPER and SECRETS_KEY',
    ),
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Lowest severity that is logged'),
  PORT: integer(0, 65_535).default(8_080).describe('Port of the API; 0 takes any free port'),
  HOST: optional(host).describe('Address to listen on; when not set: 127.0.0.1, in production 0.0.0.0'),
  PUBLIC_BASE_URL: optional(baseUrl).describe(
    'URL at which clients reach the gateway, and the server in the OpenAPI document; with https, vendors can report jobs',
  ),
  TRUST_PROXY: trustedProxies
    .default(false)
    .describe('Proxies whose X-Forwarded-For header is trusted for the address of the caller'),
  MAX_REQUEST_BYTES: integer(1_024, 268_435_456).default(10_485_760).describe('Largest JSON body in bytes'),
  MAX_MULTIPART_BYTES: integer(1_024, 268_435_456)
    .default(26_214_400)
    .describe('Largest multipart form, with its files, in bytes'),
  MAX_BUFFERED_BYTES: integer(1_024, 68_719_476_736)
    .default(134_217_728)
    .describe(
      'Memory for request bodies and the images they link to, at most 3/4 for one organization; requests beyond it get 503. Generated images and replays share a second budget of this size, images of jobs a third',
    ),
  OVERLOAD_CONCURRENCY: integer(0, 1_000_000)
    .default(2_048)
    .describe(
      'Requests in flight at which a busy process refuses new ones with 503; the limit falls while the process stays busy; 0: no limit',
    ),
  SSE_PING_MS: integer(100, ONE_HOUR_MS).default(15_000).describe('Silence after which a stream sends a ping'),
  SSE_MERGE_MS: integer(0, 1_000)
    .default(16)
    .describe('How long an event of a fast stream waits for others, to be written together; 0: no wait'),
  DRAIN_TIMEOUT_MS: integer(0, ONE_HOUR_MS)
    .default(30_000)
    .describe('How long a shutdown waits for requests in flight'),
  DATA_DIR: path.default('.data').describe('Directory of the embedded services and generated secrets'),
  DATABASE_URL: optional(serverUrl('postgres', 'postgresql')).describe(
    'PostgreSQL 15 or later; an embedded one when not set',
  ),
  DATABASE_DIRECT_URL: optional(serverUrl('postgres', 'postgresql')).describe(
    'Direct connection to the database when DATABASE_URL leads to a pooler; used for money and migrations',
  ),
  DATABASE_READ_URL: optional(serverUrl('postgres', 'postgresql')).describe(
    'Replica for lists, exports, usage and audits; while the replica is unavailable or 30 s behind, the primary serves them',
  ),
  MIGRATE_ON_START: flag
    .default(true)
    .describe(
      'Applies pending migrations at start; with false, the process waits until gateway migrate has applied them',
    ),
  DATABASE_POOL_SIZE: integer(1, 500).default(10).describe('Connections of the general pool'),
  MONEY_POOL_SIZE: integer(4, 100).default(4).describe('Connections of the pool for reservations and settlements'),
  MONEY_LANES: integer(1, 32)
    .default(1)
    .describe('Parallel batches of reservations and of settlements, by organization; each lane needs two connections'),
  LEDGER_AUDIT_TIMEOUT_MS: timeoutMs.default(60_000).describe('Time limit of one periodic audit of the ledger'),
  LEDGER_CLOSE_AFTER_DAYS: integer(3, 365)
    .default(3)
    .describe('Age at which a day of the ledger is closed; audits then read its totals instead of every request'),
  LEDGER_RETENTION_DAYS: integer(0, 36_500)
    .default(0)
    .describe(
      'Age, at least 30, at which the requests of closed days are moved to the object storage; 0 keeps them in the database',
    ),
  AUDIT_RETENTION_DAYS: integer(0, 36_500)
    .default(0)
    .describe('Age, at least 90, at which entries of the audit log are deleted; 0 never deletes them'),
  REDIS_URL: optional(serverUrl('redis', 'rediss')).describe('Redis 7 or later; an embedded one when not set'),
  REDIS_MODE: choice(['single', 'sentinel', 'cluster'])
    .default('single')
    .describe(
      'sentinel: the host in REDIS_URL is the name under which REDIS_NODES monitor the primary; cluster: it is one of the nodes',
    ),
  REDIS_NODES: optional(redisNodes).describe(
    'The sentinels, required with REDIS_MODE=sentinel; with cluster: additional seed nodes',
  ),
  REDIS_TIMEOUT_MS: integer(10, 60_000)
    .default(250)
    .describe('Timeout of Redis commands, after which requests that spend get 503'),
  API_KEY_PEPPER: optional(secret(32)).describe(
    'HMAC secret for the stored digests of API keys; generated into DATA_DIR when not set',
  ),
  SECRETS_KEY: optional(encryptionKeys).describe(
    'Encrypts stored secrets, such as those of webhooks; generated into DATA_DIR when not set',
  ),
  ACCEPT_UNCHECKSUMMED_KEYS: flag
    .default(false)
    .describe('Accepts API keys without a checksum, for deployments that insert keys of their own'),
  STORAGE: optional(choice(['none', 'local', 's3'])).describe(
    'Object storage for outputs; when not set: s3 with S3_BUCKET, else local, in production none',
  ),
  // The S3 maximum.
  SIGNED_URL_TTL_SECONDS: integer(60, 604_800).default(3_600).describe('How long the signed URL of an output is valid'),
  STORAGE_SIGNING_SECRET: optional(secret(32)).describe(
    'Signs the URLs of local outputs; derived from API_KEY_PEPPER when not set',
  ),
  S3_BUCKET: optional(matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket')).describe(
    'Bucket for outputs',
  ),
  S3_REGION: matching(/^[A-Za-z0-9-]{1,64}$/, 'the name of a region')
    .default('us-east-1')
    .describe('Region of the bucket'),
  S3_ENDPOINT: optional(baseUrl).describe('S3-compatible server; AWS when not set'),
  S3_PUBLIC_ENDPOINT: optional(baseUrl).describe('URL at which clients reach S3_ENDPOINT, if it differs'),
  S3_FORCE_PATH_STYLE: optional(flag).describe('Path-style bucket addressing; when not set: true with S3_ENDPOINT'),
  S3_ACCESS_KEY_ID: optional(secret()).describe(
    'Access key; when not set, the AWS SDK finds credentials, such as those of a role',
  ),
  S3_SECRET_ACCESS_KEY: optional(secret()).describe('Secret key that belongs to S3_ACCESS_KEY_ID'),
  // With a shorter time, idempotent replays would contain dead URLs.
  IMAGE_RETENTION_HOURS: integer(25, MAX_RETENTION_HOURS).default(48).describe('How long images are kept'),
  VIDEO_RETENTION_HOURS: retentionHours.default(168).describe('How long videos are kept'),
  MUSIC_RETENTION_HOURS: retentionHours.default(168).describe('How long music is kept'),
  JOB_TTL_SECONDS: integer(1, 604_800)
    .default(86_400)
    .describe('How long a video or music job may take before it expires, free of charge'),
  JOB_RETENTION_DAYS: integer(0, 36_500)
    .default(400)
    .describe(
      'How long a video or music job is kept after its end, at least as long as its results; 0 never deletes it',
    ),
  WORKER: choice(['inline', 'none'])
    .default('inline')
    .describe('Whether the gateway runs video and music jobs itself; with none, only start:worker processes run them'),
  WORKER_PORT: integer(0, 65_535).default(8_081).describe('Port of the probes of a worker; 0 takes any free port'),
  WORKER_CONCURRENCY: integer(1, 10_000)
    .default(20)
    .describe('Jobs that a process runs at once, at most half of them on one deployment'),
  WORKER_LEASE_SECONDS: integer(1, 3_600)
    .default(60)
    .describe('How long a worker may miss its heartbeat before another one takes over its jobs'),
  MAX_ARTIFACT_BYTES: integer(1_024, 68_719_476_736)
    .default(536_870_912)
    .describe('Largest artifact that is copied from a provider'),
  USAGE_RETENTION_DAYS: integer(0, 36_500)
    .default(400)
    .describe('How long the receipts of single requests are kept; 0 never deletes them. Totals are always kept'),
  CATALOG_DIR: optional(path).describe('Directory of model catalogue files that are merged over the built-in ones'),
  PROVIDERS_FILE: optional(path).describe(
    'File of named provider instances, such as several servers or accounts of one vendor',
  ),
  DEFAULT_MAX_OUTPUT_TOKENS: integer(1, 1_000_000)
    .default(4_096)
    .describe('Output tokens that are reserved for a request without a limit'),
  UPSTREAM_CONNECT_TIMEOUT_MS: integer(1, MAX_CONNECT_TIMEOUT_MS)
    .default(5_000)
    .describe('Time limit for connecting to a provider'),
  UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: timeoutMs
    .default(30_000)
    .describe('Time limit from a request to the first event of a streamed answer, unless the catalogue sets another'),
  UPSTREAM_REPLY_TIMEOUT_MS: timeoutMs
    .default(600_000)
    .describe('Time limit from a request to the end of an answer that is not streamed'),
  UPSTREAM_IDLE_TIMEOUT_MS: timeoutMs
    .default(60_000)
    .describe('Time limit of silence within an answer, unless the catalogue sets another'),
  UPSTREAM_TOTAL_TIMEOUT_MS: timeoutMs.default(1_200_000).describe('Time limit of a whole answer'),
  ROUTING_STRATEGY: choice(['priority', 'price', 'latency', 'throughput', 'weighted'])
    .default('priority')
    .describe('Default order of the deployments of a model'),
  MAX_ATTEMPTS: integer(1, 8).default(4).describe('Default number of provider calls per request'),
  PROVIDER_MAX_CONCURRENCY: integer(1, 100_000).default(1_024).describe('Calls in flight at one provider, per process'),
  CIRCUIT_BREAKER_FAILURES: integer(0, 1_000)
    .default(5)
    .describe('Consecutive failures that open the circuit breaker of a deployment; 0 disables it'),
  CIRCUIT_BREAKER_OPEN_MS: timeoutMs
    .default(30_000)
    .describe('How long the circuit breaker stays open before it allows one probe call'),
  ...LIMIT_SETTINGS,
  ...DASHBOARD_SETTINGS,
  ...PAYMENT_SETTINGS,
  OUTBOUND_ALLOW_CIDRS: optional(ipRanges).describe(
    'Private addresses to which requests for images, artifacts and webhooks are allowed',
  ),
  OUTBOUND_DENY_CIDRS: optional(ipRanges).describe(
    'Public addresses to which these requests are refused, for example those of this deployment',
  ),
  OUTBOUND_DENY_HOSTS: optional(hostNames).describe(
    'Hosts to which these requests are refused, including all subdomains',
  ),
  OUTBOUND_NAT64: flag
    .default(false)
    .describe('Treats DNS answers within 64:ff9b::/96 as IPv4 addresses, for IPv6-only networks'),
  ...OBSERVABILITY_SETTINGS,
  MOCK_PROVIDER: optional(flag).describe('Serves the mock models; when not set: true, in production false'),
  MOCK_MEDIA_PROVIDER: optional(flag).describe(
    'Serves mock video and music; when not set: true with the embedded services, else false',
  ),
  MOCK_MEDIA_DIR: optional(path).describe(
    'Directory of mock video and music jobs; mock-media in DATA_DIR when not set',
  ),
  ...PROVIDER_SETTINGS,
});

export type Settings = z.output<typeof SETTINGS>;
