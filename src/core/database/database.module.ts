/**
 * Connections to PostgreSQL for every module: TypeORM's `DataSource`, the money pool for billing, and a replica for
 * reads. The module is global and thus closed last: the shutdown of other modules (leases, settlements) still needs it.
 */
import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { BrokenConnections } from './broken-connections';
import { createDataSource } from './data-source';
import { createFailoverClient } from './failover-client';
import { createMoneyPool, MONEY_POOL } from './money-pool';
import { onceReachable } from './once-reachable';
import { ReadDatabase } from './read-database';
import { reportMissingLimits } from './role-limits';

const logger = new Logger('Database');

/** Token of the client class for all connections to the primary. */
const PRIMARY_CLIENT = Symbol('PrimaryClient');

@Global()
@Module({
  providers: [
    BrokenConnections,
    { provide: PRIMARY_CLIENT, useFactory: createFailoverClient },
    {
      provide: DataSource,
      inject: [APP_CONFIG, PRIMARY_CLIENT, BrokenConnections],
      useFactory: async (config: AppConfig, client: typeof Client, broken: BrokenConnections) => {
        const isPooled = config.databaseDirectUrl !== null;
        const { poolSize } = config.database;
        const settings = { url: requireUrl(config), poolSize, isPooled, client, onPoolError: broken.report };
        const dataSource = await onceReachable(() => createDataSource(settings).initialize());
        if (isPooled) await reportMissingLimits(dataSource, logger);
        return dataSource;
      },
    },
    {
      provide: ReadDatabase,
      inject: [APP_CONFIG, DataSource],
      useFactory: ({ databaseReadUrl: url, databaseDirectUrl, database }: AppConfig, dataSource: DataSource) => {
        const isPooled = databaseDirectUrl !== null;
        return new ReadDatabase(dataSource, url === null ? null : { url, poolSize: database.poolSize, isPooled });
      },
    },
    {
      provide: MONEY_POOL,
      inject: [APP_CONFIG, PRIMARY_CLIENT, BrokenConnections],
      useFactory: (config: AppConfig, client: typeof Client, broken: BrokenConnections) =>
        createMoneyPool({
          url: config.databaseDirectUrl ?? requireUrl(config),
          poolSize: config.database.moneyPoolSize,
          client,
          onPoolError: broken.report,
        }),
    },
  ],
  exports: [DataSource, MONEY_POOL, ReadDatabase],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(MONEY_POOL) private readonly moneyPool: Pool,
    private readonly brokenConnections: BrokenConnections,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    this.brokenConnections.close();
    await Promise.all([this.moneyPool.end(), this.dataSource.destroy()]);
  }
}

function requireUrl({ databaseUrl }: AppConfig): string {
  if (databaseUrl === null) {
    throw new Error('The embedded PostgreSQL must be started before the application');
  }
  return databaseUrl;
}
