import { baseUrl, choice, host, integer, limit, path, secret, serverUrl, trustedProxies } from './setting';

const ONE_HOUR_MS = 3_600_000;
const TIMEOUT_RANGE = { min: 1, max: ONE_HOUR_MS };

/** Every variable of the gateway. `.env.example` lists the same with the same defaults, which a spec checks. */
export const SETTINGS = {
  environment: choice(
    'NODE_ENV',
    ['development', 'production', 'test'],
    'development',
    'production embeds nothing and refuses to start without DATABASE_URL, REDIS_URL and API_KEY_PEPPER',
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
  maxBufferedBytes: integer(
    'MAX_BUFFERED_BYTES',
    { min: 1_024, max: 68_719_476_736, fallback: 134_217_728 },
    'Bytes that all bodies of requests under way may take, those of one organization 3/4 of it; beyond: 503',
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
  acceptUnchecksummedKeys: choice(
    'ACCEPT_UNCHECKSUMMED_KEYS',
    ['true', 'false'],
    'false',
    'Also looks up keys that this service did not make, for deployments that insert their own',
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
  globalRequestsPerSecond: limit(
    'LIMIT_GLOBAL_REQUESTS_PER_SECOND',
    'Requests per second of everybody together; not limited when not set',
  ),
  globalRequestsPerMinute: limit(
    'LIMIT_GLOBAL_REQUESTS_PER_MINUTE',
    'Requests per minute of everybody together; not limited when not set',
  ),
  globalTokensPerMinute: limit(
    'LIMIT_GLOBAL_TOKENS_PER_MINUTE',
    'Tokens per minute of everybody together; not limited when not set',
  ),
  globalConcurrency: limit(
    'LIMIT_GLOBAL_CONCURRENCY',
    'Requests in flight of everybody together; not limited when not set',
  ),
  keyRequestsPerSecond: limit(
    'LIMIT_KEY_REQUESTS_PER_SECOND',
    'Requests per second of each key that sets no limit itself',
  ),
  keyRequestsPerMinute: limit(
    'LIMIT_KEY_REQUESTS_PER_MINUTE',
    'Requests per minute of each key that sets no limit itself',
  ),
  keyTokensPerMinute: limit('LIMIT_KEY_TOKENS_PER_MINUTE', 'Tokens per minute of each key that sets no limit itself'),
  keyConcurrency: limit('LIMIT_KEY_CONCURRENCY', 'Requests in flight of each key that sets no limit itself'),
  organizationRequestsPerSecond: limit(
    'LIMIT_ORGANIZATION_REQUESTS_PER_SECOND',
    'Requests per second of each organization that sets no limit itself',
  ),
  organizationRequestsPerMinute: limit(
    'LIMIT_ORGANIZATION_REQUESTS_PER_MINUTE',
    'Requests per minute of each organization that sets no limit itself',
  ),
  organizationTokensPerMinute: limit(
    'LIMIT_ORGANIZATION_TOKENS_PER_MINUTE',
    'Tokens per minute of each organization that sets no limit itself',
  ),
  organizationConcurrency: limit(
    'LIMIT_ORGANIZATION_CONCURRENCY',
    'Requests in flight of each organization that sets no limit itself',
  ),
  mockProvider: choice(
    'MOCK_PROVIDER',
    ['true', 'false'],
    null,
    'Serves the mock models; when not set true, in production false',
  ),
  openaiApiKey: secret('OPENAI_API_KEY', 'Enables the OpenAI models'),
  openaiBaseUrl: baseUrl('OPENAI_BASE_URL', 'Another address of OpenAI, such as a regional one'),
  openaiCompatibleBaseUrl: baseUrl(
    'OPENAI_COMPATIBLE_BASE_URL',
    'Any server with the same API, such as vLLM or Ollama',
  ),
  openaiCompatibleApiKey: secret('OPENAI_COMPATIBLE_API_KEY', 'Its key, where it asks for one'),
};
