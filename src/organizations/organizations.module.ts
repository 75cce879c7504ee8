import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { resolveApiKeyPepper } from '../auth/api-key-pepper';
import { CLOCK, type Clock } from '../common/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { REDIS } from '../redis/redis.module';
import { ApiKeyService } from './api-key.service';
import { OrganizationService } from './organization.service';

/** Administration of organizations and keys, for whoever has already established that the caller may do it. */
@Module({
  providers: [
    {
      provide: OrganizationService,
      inject: [DataSource, REDIS, CLOCK],
      useFactory: (dataSource: DataSource, redis: Redis, clock: Clock) =>
        new OrganizationService(dataSource, redis, clock),
    },
    {
      provide: ApiKeyService,
      inject: [DataSource, REDIS, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, redis: Redis, clock: Clock, config: AppConfig) =>
        new ApiKeyService(dataSource, redis, clock, resolveApiKeyPepper(config)),
    },
  ],
  exports: [OrganizationService, ApiKeyService],
})
export class OrganizationsModule {}
