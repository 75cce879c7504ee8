import type { Mailbox } from '../types/mailbox';
import type { RateLimits } from '../types/rate-limits';
import type { RedisNode } from '../types/redis-node';
import type { ProviderEnvironment } from './provider-environment';
import type { ProviderInstance } from './provider-instances';

/** Injection token of the settings. */
export const APP_CONFIG = Symbol('AppConfig');

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** Every setting of the process, read once at start (README, *Configuration*). Nothing else reads the environment. */
export interface AppConfig {
  readonly production: boolean;
  readonly logLevel: LogLevel;
  /** Which requests get a line in the log when they have ended. */
  readonly logRequests: 'none' | 'failures' | 'all';
  /** Absolute path; holds the embedded services and generated secrets. */
  readonly dataDir: string;
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** Without a trailing slash; the default server of the served document. `null`: derived from host and port. */
    readonly publicBaseUrl: string | null;
    readonly maxRequestBytes: number;
    readonly maxMultipartBytes: number;
    /** Memory for the bodies of all requests in flight. */
    readonly maxBufferedBytes: number;
    /** Requests in flight at which an overloaded process refuses new ones; 0: no limit. */
    readonly overloadConcurrency: number;
    /** Proxies whose `X-Forwarded-For` is trusted: `false`, a hop count, or a list of addresses and CIDR ranges. */
    readonly trustProxy: false | number | readonly string[];
    readonly ssePingMs: number;
    readonly sseMergeMs: number;
    /** How long a shutdown still accepts requests, so that load balancers notice it. */
    readonly shutdownDelayMs: number;
    /** How long it then waits for requests in flight. */
    readonly drainTimeoutMs: number;
  };
  /** Traces (src/core/observability/traces). */
  readonly traces: {
    /** Where spans are sent; `null`: nothing is traced. */
    readonly endpoint: string | null;
    readonly headers: Readonly<Record<string, string>>;
    readonly serviceName: string;
    readonly resource: Readonly<Record<string, string>>;
    /** Share of the requests that are traced, from 0 to 1. */
    readonly ratio: number;
    readonly genaiConventions: '1.41' | 'latest';
    /** Ids of providers that get the `traceparent` of their calls. */
    readonly propagateTo: readonly string[];
  };
  /** The port for operators: metrics and probes (src/core/observability). */
  readonly management: {
    /** 0: no management port. */
    readonly port: number;
    /** `null`: metrics need no token. */
    readonly token: string | null;
    /** Commit of this build. */
    readonly commit: string;
  };
  /** `null`: start the embedded server. */
  readonly databaseUrl: string | null;
  /** Bypasses the pooler in transaction mode that `databaseUrl` leads to (src/core/database/README.md). */
  readonly databaseDirectUrl: string | null;
  /** A replica for reads that may be some seconds old. `null`: there is none. */
  readonly databaseReadUrl: string | null;
  /** Apply pending migrations at start; an embedded server is always migrated. */
  readonly migrateOnStart: boolean;
  /** `null`: start the embedded server. */
  readonly redisUrl: string | null;
  /** Sentinels, which know the address of the primary. The host of `redisUrl` is then its name. `null`: none. */
  readonly redisSentinels: readonly RedisNode[] | null;
  /** Seed nodes of a cluster, besides `redisUrl`. `null`: Redis is not a cluster. */
  readonly redisCluster: readonly RedisNode[] | null;
  /** Time limit for the reply to one command. */
  readonly redisTimeoutMs: number;
  readonly database: { readonly poolSize: number; readonly moneyPoolSize: number; readonly moneyLanes: number };
  /** How long an audit of the ledger may take. */
  readonly ledgerAuditTimeoutMs: number;
  readonly ledgerCloseAfterDays: number;
  /** How long requests of closed days stay before they move to the object storage; 0: unlimited. */
  readonly ledgerRetentionDays: number;
  /** How long entries of the audit log are kept; 0: unlimited. */
  readonly auditRetentionDays: number;
  readonly storage: {
    readonly backend: StorageBackend;
    readonly signedUrlTtlSeconds: number;
    readonly retentionHours: Readonly<Record<'image' | 'video' | 'music', number>>;
  };
  /** Video and music jobs. */
  readonly jobs: {
    /** From the submission to `expires_at`. */
    readonly ttlSeconds: number;
    /** From the end of a job to its deletion; 0: unlimited. */
    readonly retentionDays: number;
  };
  /** Workers of video and music jobs (src/media-jobs/worker). */
  readonly worker: {
    /** Whether the API process runs jobs. */
    readonly inline: boolean;
    /** Port of the probes of a worker. */
    readonly port: number;
    readonly concurrency: number;
    readonly leaseSeconds: number;
    readonly maxArtifactBytes: number;
  };
  /** `retentionDays`: how long receipts of single requests are kept; 0: unlimited. */
  readonly usage: { readonly retentionDays: number };
  readonly catalogDir: string | null;
  /** Secret for the digests of API keys. `null`: generated into `dataDir` (embedded only). */
  readonly apiKeyPepper: string | null;
  /** In hexadecimal; the first encrypts, all decrypt. `null`: generated into `dataDir` (not in production). */
  readonly secretsKeys: readonly string[] | null;
  /** Whether to look up API keys without a valid checksum too. */
  readonly acceptUnchecksummedKeys: boolean;
  readonly inference: {
    readonly connectTimeoutMs: number;
    readonly firstTokenTimeoutMs: number;
    readonly replyTimeoutMs: number;
    readonly idleTimeoutMs: number;
    readonly totalTimeoutMs: number;
    readonly defaultMaxOutputTokens: number;
  };
  readonly routing: {
    readonly strategy: 'priority' | 'price' | 'latency' | 'throughput' | 'weighted';
    /** Maximum provider calls per request, unless the request sets another. */
    readonly maxAttempts: number;
    /** Maximum calls in flight from this process to one provider. */
    readonly providerMaxConcurrency: number;
    /**
     * Consecutive failures that open a circuit breaker; 0: breakers never open, and upstream rate limits are not
     * remembered.
     */
    readonly breakerFailures: number;
    readonly breakerOpenMs: number;
  };
  readonly limits: {
    /** Limits of all requests together. */
    readonly global: RateLimits;
    /** Defaults for keys and organizations without their own limits. */
    readonly keyDefaults: RateLimits;
    readonly organizationDefaults: RateLimits;
    /** Limit of GET and DELETE requests per key. */
    readonly keyReadsPerSecond: number;
  };
  /** Allowed hosts for URLs from users and providers (src/core/outbound/README.md). */
  readonly outbound: {
    readonly allowCidrs: readonly string[];
    readonly denyCidrs: readonly string[];
    /** In lower case. */
    readonly denyHosts: readonly string[];
    readonly nat64: boolean;
  };
  /** The dashboard: the control plane for people. */
  readonly dashboard: {
    /** Base of the links in mails, without a trailing slash. `null`: derived from `http` (src/core/mail). */
    readonly url: string | null;
    /** Whether session cookies are sent over https only. */
    readonly cookieSecure: boolean;
    /** `idleMs`: maximum time without use; `absoluteMs`: maximum age. */
    readonly sessions: { readonly idleMs: number; readonly absoluteMs: number };
    /** Failed logins per 15 minutes, and mail requests per hour. */
    readonly attemptsPerAddress: number;
    /** Maximum changes per user, across all sessions. */
    readonly changesPerMinute: number;
    readonly playgroundDailyBudgetMicro: number;
  };
  /** How organizations buy credit (src/billing/payments). */
  readonly payments: {
    readonly provider: 'none' | 'test' | 'stripe';
    /** Whose events are accepted, even after sales have ended. */
    readonly stripe: {
      readonly secretKey: string;
      readonly webhookSecret: string;
      /** `null`: the URL of Stripe. */
      readonly apiBaseUrl: string | null;
    } | null;
    /** Limits of each organization, unless operators set others. */
    readonly purchaseLimitDayMicro: number;
    readonly purchaseLimitMonthMicro: number;
  };
  readonly mail: {
    /** `null`: mails are written to the log and to `dataDir`; in production there are none. */
    readonly smtpUrl: string | null;
    /** Set whenever `smtpUrl` is. */
    readonly from: Mailbox | null;
  };
  readonly providers: ProviderEnvironment;
  /** From `PROVIDERS_FILE`. */
  readonly providerInstances: readonly ProviderInstance[];
}

/** Object storage for outputs. */
export type StorageBackend =
  | { readonly type: 'none' }
  /** `signingSecret: null`: derived from the secret of the API keys. */
  | { readonly type: 'local'; readonly signingSecret: string | null }
  | {
      readonly type: 's3';
      readonly bucket: string;
      readonly region: string;
      /** `null`: AWS. */
      readonly endpoint: string | null;
      /** `null`: clients use the same endpoint as the gateway. */
      readonly publicEndpoint: string | null;
      readonly forcePathStyle: boolean;
      /** `null`: the credentials that the AWS SDK finds. */
      readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
    };
