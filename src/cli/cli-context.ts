import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import type { KeyInvalidationTransport } from '../auth/api-keys/key-invalidation';
import { LedgerService } from '../billing/ledger/ledger.service';
import { systemClock, type Clock } from '../core/time/clock';
import type { AppConfig } from '../core/config/app-config';
import { ConfigModule } from '../core/config/config.module';
import { loadConfig } from '../core/config/load-config';
import { createDataSource } from '../core/database/data-source';
import { createMoneyPool } from '../core/database/money-pool';
import { onceReachable } from '../core/database/once-reachable';
import { hasPendingMigrations, runMigrations } from '../core/database/run-migrations';
import { attachEmbeddedServices } from '../core/embedded/embedded-services';
import { resolveApiKeyPepper } from '../core/secrets/service-secrets';
import type { RedisNode } from '../core/types/redis-node';
import { readDeploymentId } from '../core/redis/deployment-identity';
import { clusterArguments, PrefixedCluster, PrefixedRedis, sentinelOptions } from '../core/redis/redis-client';
import { ApiKeyService } from '../auth/api-keys/api-key.service';
import { OrganizationService } from '../dashboard/organizations/organization.service';
import { PROVIDER_MODULES } from '../provider-modules';
import { ProvidersService } from '../providers/providers.service';

/** Gateway services for commands, constructed by hand because a command starts no server. */
export interface CliContext {
  readonly config: AppConfig;
  readonly clock: Clock;
  readonly dataSource: DataSource;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly ledger: LedgerService;
  /** For notifying running gateways of a change. */
  readonly redis: KeyInvalidationTransport;
}

/** A failure reported without a stack trace: the message says what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

const POOL_SIZE = 2;
const REDIS_TIMEOUT_MS = 1_000;

/**
 * Runs `work` with the URLs of PostgreSQL and Redis: the configured servers, those of a gateway that runs on the same
 * data directory, or embedded ones that run only during the command. Commands bypass a connection pooler.
 */
export async function withServices<Result>(
  work: (urls: { readonly databaseUrl: string; readonly redisUrl: string }, config: AppConfig) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig();
  // Standard output is reserved for the result.
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const services = await attachEmbeddedServices(config, logger);
  try {
    return await work({ ...services, databaseUrl: config.databaseDirectUrl ?? services.databaseUrl }, config);
  } finally {
    await services.stop();
  }
}

/**
 * Runs `work` with the services of a gateway and closes all connections afterwards.
 * @throws CliError when the database has pending migrations. An embedded database is migrated automatically.
 */
export function withContext<Result>(work: (context: CliContext) => Promise<Result>): Promise<Result> {
  return withServices(async ({ databaseUrl, redisUrl }, config) => {
    const dataSource = createDataSource({ url: databaseUrl, poolSize: POOL_SIZE });
    const moneyPool = createMoneyPool({ url: databaseUrl, poolSize: 1, onPoolError: () => undefined });
    let redis: PrefixedRedis | PrefixedCluster | null = null;
    try {
      await onceReachable(() => dataSource.initialize());
      await ensureMigrated(dataSource, databaseUrl, config);
      const keyPrefix = `${await readDeploymentId(dataSource)}:`;
      redis = connectRedis(redisUrl, config, keyPrefix);
      return await work({
        config,
        clock: systemClock,
        dataSource,
        organizations: new OrganizationService(dataSource, redis, systemClock),
        keys: new ApiKeyService(dataSource, redis, systemClock, resolveApiKeyPepper(config)),
        ledger: new LedgerService(moneyPool),
        redis,
      });
    } finally {
      redis?.disconnect();
      await moneyPool.end();
      if (dataSource.isInitialized) await dataSource.destroy();
    }
  });
}

/** The root of the command line's Nest context. */
@Module({})
class ProviderContext {}

/** The configured providers. They open no connection before a call, so there is nothing to close. */
export async function loadProviders(config: AppConfig): Promise<ProvidersService> {
  const root = { module: ProviderContext, imports: [ConfigModule.forRoot(config), ...PROVIDER_MODULES] };
  const context = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  return context.get(ProvidersService, { strict: false });
}

async function ensureMigrated(dataSource: DataSource, databaseUrl: string, config: AppConfig): Promise<void> {
  if (!(await hasPendingMigrations(dataSource))) return;
  if (config.databaseUrl !== null) {
    throw new CliError('The database is not up to date. Run "npm run gateway -- migrate" first.');
  }
  await runMigrations(databaseUrl);
}

/** Connects on first publish, tries once, and warns on standard error on failure. */
function connectRedis(url: string, config: AppConfig, keyPrefix: string): PrefixedRedis | PrefixedCluster {
  const redis =
    config.redisCluster === null
      ? openPrimary(url, config, keyPrefix)
      : openCluster(url, config.redisCluster, keyPrefix);
  redis.once('error', () => {
    process.stderr.write(
      'warning: Redis is unreachable; running gateways apply model and price changes within 30 seconds, ' +
        'other changes within 5 seconds.\n',
    );
  });
  redis.on('error', () => undefined);
  return redis;
}

function openPrimary(url: string, config: AppConfig, keyPrefix: string): PrefixedRedis {
  return new PrefixedRedis(url, {
    ...sentinelOptions(url, config),
    keyPrefix,
    sentinelRetryStrategy: () => null,
    lazyConnect: true,
    connectTimeout: REDIS_TIMEOUT_MS,
    commandTimeout: REDIS_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
}

function openCluster(url: string, others: readonly RedisNode[], keyPrefix: string): PrefixedCluster {
  const [nodes, options] = clusterArguments(url, others, { keyPrefix, commandTimeout: REDIS_TIMEOUT_MS });
  return new PrefixedCluster(nodes, {
    ...options,
    lazyConnect: true,
    enableOfflineQueue: true,
    clusterRetryStrategy: () => null,
  });
}
