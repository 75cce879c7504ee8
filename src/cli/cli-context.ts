import { Redis } from 'ioredis';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import { resolveApiKeyPepper } from '../auth/api-key-pepper';
import type { KeyInvalidationTransport } from '../auth/key-invalidation';
import { LedgerService } from '../billing/ledger.service';
import { systemClock, type Clock } from '../common/clock';
import type { AppConfig } from '../config/app-config';
import { loadConfig } from '../config/load-config';
import { createDataSource } from '../database/data-source';
import { createMoneyPool } from '../database/money-pool';
import { onceReachable } from '../database/once-reachable';
import { hasPendingMigrations, runMigrations } from '../database/run-migrations';
import { attachEmbeddedServices } from '../embedded/embedded-services';
import { ApiKeyService } from '../organizations/api-key.service';
import { OrganizationService } from '../organizations/organization.service';

/** What the commands work with: the services of the gateway, put together by hand because a command has no server. */
export interface CliContext {
  readonly config: AppConfig;
  readonly clock: Clock;
  readonly dataSource: DataSource;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly ledger: LedgerService;
  /** For telling running gateways of a change. */
  readonly redis: KeyInvalidationTransport;
}

/** A failure that needs no stack trace: the message says what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

const POOL_SIZE = 2;
const REDIS_TIMEOUT_MS = 1_000;

/**
 * Runs `work` with the URLs of PostgreSQL and Redis: the configured servers, those of a gateway running on the same
 * data directory, or embedded ones that are started for as long as the command takes.
 */
export async function withServices<Result>(
  work: (urls: { readonly databaseUrl: string; readonly redisUrl: string }, config: AppConfig) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig();
  // Standard output belongs to the command's result.
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const services = await attachEmbeddedServices(config, logger);
  try {
    return await work(services, config);
  } finally {
    await services.stop();
  }
}

/**
 * Runs `work` with the services of a gateway and closes all connections afterwards.
 * @throws CliError when the database is not migrated. An embedded one is, on the way: nobody else looks after it.
 */
export function withContext<Result>(work: (context: CliContext) => Promise<Result>): Promise<Result> {
  return withServices(async ({ databaseUrl, redisUrl }, config) => {
    const dataSource = createDataSource({ url: databaseUrl, poolSize: POOL_SIZE });
    const moneyPool = createMoneyPool({ url: databaseUrl, poolSize: 1, onPoolError: () => undefined });
    const redis = connectRedis(redisUrl);
    try {
      await onceReachable(() => dataSource.initialize());
      await ensureMigrated(dataSource, databaseUrl, config);
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
      redis.disconnect();
      await moneyPool.end();
      if (dataSource.isInitialized) await dataSource.destroy();
    }
  });
}

async function ensureMigrated(dataSource: DataSource, databaseUrl: string, config: AppConfig): Promise<void> {
  if (!(await hasPendingMigrations(dataSource))) return;
  if (config.databaseUrl !== null) {
    throw new CliError('The database is not up to date. Run "npm run gateway -- migrate" first.');
  }
  await runMigrations(databaseUrl);
}

/** Connects when something is to be published, tries once, and says so when nobody could be told. */
function connectRedis(url: string): KeyInvalidationTransport & { disconnect(): void } {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: REDIS_TIMEOUT_MS,
    commandTimeout: REDIS_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.once('error', () => {
    process.stderr.write(
      'warning: Redis does not answer; running gateways notice a changed model or price within 30 seconds, ' +
        'anything else within 5 seconds.\n',
    );
  });
  redis.on('error', () => undefined);
  return redis;
}
