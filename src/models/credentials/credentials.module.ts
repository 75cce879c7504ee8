/**
 * Keys and base URLs of providers that operators store in the database, sealed under `SECRETS_KEY`, instead of in the
 * environment of every process. Neighbours: `providers` uses them; the dashboard and the command line set them.
 * Invariant: a value is sent only to its provider; no response, log, audit entry or error message contains it.
 */
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { SecretBox } from '../../core/secrets/secret-box';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { resolveSecretsKeys } from '../../core/secrets/service-secrets';
import { ProvidersModule } from '../../providers/providers.module';
import { ProvidersService } from '../../providers/providers.service';
import { REDIS } from '../../core/redis/redis.module';
import { publishCredentialChange, StoredCredentials } from './stored-credentials';
import { CredentialRepository } from './credential.repository';
import { CredentialService } from './credential.service';

@Module({
  imports: [SchedulingModule, ProvidersModule],
  providers: [
    CredentialRepository,
    StoredCredentials,
    {
      provide: SecretBox,
      inject: [APP_CONFIG],
      useFactory: (config: AppConfig) => new SecretBox(resolveSecretsKeys(config)),
    },
    {
      provide: CredentialService,
      inject: [DataSource, CredentialRepository, SecretBox, ProvidersService, REDIS, StoredCredentials],
      useFactory: (
        dataSource: DataSource,
        repository: CredentialRepository,
        box: SecretBox,
        providers: ProvidersService,
        redis: Redis,
        stored: StoredCredentials,
      ) => {
        // Refreshes this process at once, so that the response shows the new state; others follow on the message.
        const announce = async (): Promise<void> => {
          await stored.refresh();
          await publishCredentialChange(redis);
        };
        return new CredentialService({ dataSource, repository, box, providers, announce });
      },
    },
  ],
  exports: [CredentialService],
})
export class CredentialsModule {}
