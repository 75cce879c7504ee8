import { join, resolve } from 'node:path';
import type { AppConfig, StorageBackend } from './app-config';
import type { ProviderEnvironment } from './provider-environment';
import { PROVIDER_SETTINGS } from './provider-settings';
import type { Settings } from './settings';

const MINUTE_MS = 60_000;
/** A common port for metrics exporters. */
const MANAGEMENT_PORT = 9_464;
/** Two probes of a load balancer that asks every two seconds. */
const SHUTDOWN_DELAY_MS = 5_000;

/** Groups the settings by their consumers and resolves the defaults that depend on other settings. */
export function toAppConfig(
  settings: Settings,
  environment: Readonly<Record<string, string>>,
  providerInstances: AppConfig['providerInstances'],
): AppConfig {
  const production = settings.NODE_ENV === 'production';
  const isEmbedded = settings.DATABASE_URL === null && settings.REDIS_URL === null;
  return {
    production,
    logLevel: settings.LOG_LEVEL,
    logRequests: settings.LOG_REQUESTS,
    dataDir: resolve(settings.DATA_DIR),
    http: toHttp(settings, production),
    traces: toTraces(settings),
    management: toManagement(settings, production),
    databaseUrl: settings.DATABASE_URL,
    databaseDirectUrl: settings.DATABASE_DIRECT_URL,
    databaseReadUrl: settings.DATABASE_READ_URL,
    migrateOnStart: settings.MIGRATE_ON_START,
    redisUrl: settings.REDIS_URL,
    redisSentinels: settings.REDIS_MODE === 'sentinel' ? settings.REDIS_NODES : null,
    redisCluster: settings.REDIS_MODE === 'cluster' ? (settings.REDIS_NODES ?? []) : null,
    redisTimeoutMs: settings.REDIS_TIMEOUT_MS,
    database: toDatabase(settings),
    ledgerAuditTimeoutMs: settings.LEDGER_AUDIT_TIMEOUT_MS,
    ledgerCloseAfterDays: settings.LEDGER_CLOSE_AFTER_DAYS,
    ledgerRetentionDays: settings.LEDGER_RETENTION_DAYS,
    auditRetentionDays: settings.AUDIT_RETENTION_DAYS,
    storage: toStorage(settings, production),
    jobs: { ttlSeconds: settings.JOB_TTL_SECONDS, retentionDays: settings.JOB_RETENTION_DAYS },
    worker: {
      inline: settings.WORKER === 'inline',
      port: settings.WORKER_PORT,
      concurrency: settings.WORKER_CONCURRENCY,
      leaseSeconds: settings.WORKER_LEASE_SECONDS,
      maxArtifactBytes: settings.MAX_ARTIFACT_BYTES,
    },
    usage: { retentionDays: settings.USAGE_RETENTION_DAYS },
    catalogDir: settings.CATALOG_DIR,
    apiKeyPepper: settings.API_KEY_PEPPER,
    secretsKeys: settings.SECRETS_KEY,
    acceptUnchecksummedKeys: settings.ACCEPT_UNCHECKSUMMED_KEYS,
    inference: toInference(settings),
    routing: toRouting(settings),
    limits: toLimits(settings),
    outbound: toOutbound(settings),
    dashboard: toDashboard(settings, production),
    payments: toPayments(settings, { production, isEmbedded }),
    mail: { smtpUrl: settings.SMTP_URL, from: settings.MAIL_FROM },
    providers: toProviders(settings, environment, { production, isEmbedded }),
    providerInstances,
  };
}

function toDatabase(settings: Settings): AppConfig['database'] {
  return {
    poolSize: settings.DATABASE_POOL_SIZE,
    // Two connections remain for voids, locked accounts and the lease.
    moneyPoolSize: Math.max(settings.MONEY_POOL_SIZE, 2 * settings.MONEY_LANES + 2),
    moneyLanes: settings.MONEY_LANES,
  };
}

function toStorage(settings: Settings, production: boolean): AppConfig['storage'] {
  return {
    backend: toStorageBackend(settings, production),
    signedUrlTtlSeconds: settings.SIGNED_URL_TTL_SECONDS,
    retentionHours: {
      image: settings.IMAGE_RETENTION_HOURS,
      video: settings.VIDEO_RETENTION_HOURS,
      music: settings.MUSIC_RETENTION_HOURS,
    },
  };
}

function toHttp(settings: Settings, production: boolean): AppConfig['http'] {
  return {
    host: settings.HOST ?? (production ? '0.0.0.0' : '127.0.0.1'),
    port: settings.PORT,
    publicBaseUrl: settings.PUBLIC_BASE_URL,
    maxRequestBytes: settings.MAX_REQUEST_BYTES,
    maxMultipartBytes: settings.MAX_MULTIPART_BYTES,
    maxBufferedBytes: settings.MAX_BUFFERED_BYTES,
    overloadConcurrency: settings.OVERLOAD_CONCURRENCY,
    trustProxy: settings.TRUST_PROXY,
    ssePingMs: settings.SSE_PING_MS,
    sseMergeMs: settings.SSE_MERGE_MS,
    shutdownDelayMs: settings.SHUTDOWN_DELAY_MS ?? (production ? SHUTDOWN_DELAY_MS : 0),
    drainTimeoutMs: settings.DRAIN_TIMEOUT_MS,
  };
}

function toTraces(settings: Settings): AppConfig['traces'] {
  const collector = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  return {
    endpoint: settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (collector === null ? null : `${collector}/v1/traces`),
    headers: toPairs(settings.OTEL_EXPORTER_OTLP_HEADERS),
    serviceName: settings.OTEL_SERVICE_NAME,
    resource: toPairs(settings.OTEL_RESOURCE_ATTRIBUTES),
    ratio: Number(settings.OTEL_TRACES_SAMPLER_ARG),
    genaiConventions: settings.GENAI_SEMCONV,
    propagateTo: settings.TRACE_PROPAGATE_TO?.split(',') ?? [],
  };
}

/** Of the form `name=value,name=value`. */
function toPairs(text: string | null): Record<string, string> {
  if (text === null) return {};
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const end = pair.indexOf('=');
      return [pair.slice(0, end).trim(), pair.slice(end + 1).trim()];
    }),
  );
}

function toManagement(settings: Settings, production: boolean): AppConfig['management'] {
  return {
    port: settings.MANAGEMENT_PORT ?? (production ? MANAGEMENT_PORT : 0),
    token: settings.MANAGEMENT_TOKEN,
    commit: settings.BUILD_COMMIT,
  };
}

function toStorageBackend(settings: Settings, production: boolean): StorageBackend {
  const type = settings.STORAGE ?? (settings.S3_BUCKET !== null ? 's3' : production ? 'none' : 'local');
  if (type === 'none') return { type };
  if (type === 'local') return { type, signingSecret: settings.STORAGE_SIGNING_SECRET };
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = settings;
  return {
    type,
    bucket: settings.S3_BUCKET ?? '',
    region: settings.S3_REGION,
    endpoint: settings.S3_ENDPOINT,
    publicEndpoint: settings.S3_PUBLIC_ENDPOINT,
    forcePathStyle: settings.S3_FORCE_PATH_STYLE ?? settings.S3_ENDPOINT !== null,
    credentials: accessKeyId !== null && secretAccessKey !== null ? { accessKeyId, secretAccessKey } : null,
  };
}

function toInference(settings: Settings): AppConfig['inference'] {
  return {
    connectTimeoutMs: settings.UPSTREAM_CONNECT_TIMEOUT_MS,
    firstTokenTimeoutMs: settings.UPSTREAM_FIRST_TOKEN_TIMEOUT_MS,
    replyTimeoutMs: settings.UPSTREAM_REPLY_TIMEOUT_MS,
    idleTimeoutMs: settings.UPSTREAM_IDLE_TIMEOUT_MS,
    totalTimeoutMs: settings.UPSTREAM_TOTAL_TIMEOUT_MS,
    defaultMaxOutputTokens: settings.DEFAULT_MAX_OUTPUT_TOKENS,
  };
}

function toRouting(settings: Settings): AppConfig['routing'] {
  return {
    strategy: settings.ROUTING_STRATEGY,
    maxAttempts: settings.MAX_ATTEMPTS,
    providerMaxConcurrency: settings.PROVIDER_MAX_CONCURRENCY,
    breakerFailures: settings.CIRCUIT_BREAKER_FAILURES,
    breakerOpenMs: settings.CIRCUIT_BREAKER_OPEN_MS,
  };
}

function toLimits(settings: Settings): AppConfig['limits'] {
  const of = (scope: 'GLOBAL' | 'KEY' | 'ORGANIZATION') => ({
    requestsPerSecond: settings[`LIMIT_${scope}_REQUESTS_PER_SECOND`],
    requestsPerMinute: settings[`LIMIT_${scope}_REQUESTS_PER_MINUTE`],
    tokensPerMinute: settings[`LIMIT_${scope}_TOKENS_PER_MINUTE`],
    concurrency: settings[`LIMIT_${scope}_CONCURRENCY`],
  });
  return {
    global: of('GLOBAL'),
    keyDefaults: of('KEY'),
    organizationDefaults: of('ORGANIZATION'),
    keyReadsPerSecond: settings.LIMIT_KEY_READS_PER_SECOND,
  };
}

function toOutbound(settings: Settings): AppConfig['outbound'] {
  return {
    allowCidrs: settings.OUTBOUND_ALLOW_CIDRS ?? [],
    denyCidrs: settings.OUTBOUND_DENY_CIDRS ?? [],
    denyHosts: settings.OUTBOUND_DENY_HOSTS ?? [],
    nat64: settings.OUTBOUND_NAT64,
  };
}

function toDashboard(settings: Settings, production: boolean): AppConfig['dashboard'] {
  return {
    url: settings.DASHBOARD_URL,
    cookieSecure: settings.SESSION_COOKIE_SECURE ?? production,
    sessions: {
      idleMs: settings.SESSION_IDLE_MINUTES * MINUTE_MS,
      absoluteMs: settings.SESSION_LIFETIME_HOURS * 60 * MINUTE_MS,
    },
    attemptsPerAddress: settings.SIGN_IN_ATTEMPTS_PER_ADDRESS,
    changesPerMinute: settings.DASHBOARD_CHANGES_PER_MINUTE,
    playgroundDailyBudgetMicro: settings.PLAYGROUND_DAILY_BUDGET_MICRO,
  };
}

interface Deployment {
  readonly production: boolean;
  readonly isEmbedded: boolean;
}

function toPayments(settings: Settings, { production, isEmbedded }: Deployment): AppConfig['payments'] {
  const secretKey = settings.STRIPE_SECRET_KEY;
  const fallback = secretKey !== null ? 'stripe' : isEmbedded && !production ? 'test' : 'none';
  return {
    provider: settings.PAYMENT_PROVIDER ?? fallback,
    stripe:
      secretKey === null
        ? null
        : {
            secretKey,
            webhookSecret: settings.STRIPE_WEBHOOK_SECRET ?? '',
            apiBaseUrl: settings.STRIPE_API_BASE_URL,
          },
    purchaseLimitDayMicro: settings.PURCHASE_LIMIT_DAY_MICRO,
    purchaseLimitMonthMicro: settings.PURCHASE_LIMIT_MONTH_MICRO,
  };
}

/** Named like provider variables, but not provider settings. */
const OTHER_URLS: ReadonlySet<string> = new Set(['PUBLIC_BASE_URL', 'STRIPE_API_BASE_URL']);

/**
 * Provider modules read their own variables. Those in the schema are validated; others are recognized by suffix and may
 * belong to another program, so the provider that reads them validates them.
 */
function toProviders(
  settings: Settings,
  environment: Readonly<Record<string, string>>,
  { production, isEmbedded }: Deployment,
): ProviderEnvironment {
  const names = Object.keys(environment).filter(
    (name) => name in PROVIDER_SETTINGS || (/_(?:API_KEY|BASE_URL)$/.test(name) && !OTHER_URLS.has(name)),
  );
  const validated: Readonly<Record<string, unknown>> = settings;
  return {
    ...Object.fromEntries(names.map((name) => [name, String(validated[name] ?? environment[name])])),
    MOCK_PROVIDER: String(settings.MOCK_PROVIDER ?? !production),
    // Mock media looks real, so a deployment with external services has to enable it explicitly.
    MOCK_MEDIA_PROVIDER: String(settings.MOCK_MEDIA_PROVIDER ?? isEmbedded),
    MOCK_MEDIA_DIR: settings.MOCK_MEDIA_DIR ?? join(resolve(settings.DATA_DIR), 'mock-media'),
  };
}
