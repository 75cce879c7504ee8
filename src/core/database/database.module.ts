/**
 * Connections to PostgreSQL for every module: TypeORM's `DataSource`, and the money pool for billing. The module is
 * global and thus closed last: the shutdown of other modules (leases, settlements) still needs it.
 */
import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { createDataSource } from './data-source';
import { createMoneyPool, MONEY_POOL } from './money-pool';
import { onceReachable } from './once-reachable';
import { reportMissingLimits } from './role-limits';

const logger = new Logger('Database');

/** Without a listener a broken idle connection would end the process; the pool replaces it by itself. */
const onPoolError = (error: Error) => logger.warn(`An idle connection broke: ${error.message}`);

@Global()
@Module({
  providers: [
    {
      provide: DataSource,
      inject: [APP_CONFIG],
      useFactory: async (config: AppConfig) => {
        const isPooled = config.databaseDirectUrl !== null;
        const settings = { url: requireUrl(config), poolSize: config.database.poolSize, isPooled, onPoolError };
        const dataSource = await onceReachable(() => createDataSource(settings).initialize());
        if (isPooled) await reportMissingLimits(dataSource, logger);
        return dataSource;
      },
    },
    {
      provide: MONEY_POOL,
      inject: [APP_CONFIG],
      useFactory: (config: AppConfig) =>
        createMoneyPool({
          url: config.databaseDirectUrl ?? requireUrl(config),
          poolSize: config.database.moneyPoolSize,
          onPoolError,
        }),
    },
  ],
  exports: [DataSource, MONEY_POOL],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(MONEY_POOL) private readonly moneyPool: Pool,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.moneyPool.end(), this.dataSource.destroy()]);
  }
}

function requireUrl({ databaseUrl }: AppConfig): string {
  if (databaseUrl === null) {
    throw new Error('The embedded PostgreSQL must be started before the application');
  }
  return databaseUrl;
}
