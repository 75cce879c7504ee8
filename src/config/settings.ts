import { baseUrl, choice, host, integer, path, secret, serverUrl, trustedProxies } from './setting';

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
