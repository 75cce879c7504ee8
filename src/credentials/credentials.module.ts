/**
 * Keys and base URLs of providers that operators store in the database, sealed under `SECRETS_KEY`, instead of in the
 * environment of every process. Neighbours: `providers` is made of them; the dashboard and the command line set them.
 * Invariant: a value goes to its provider and nowhere else; no reply, log, audit entry or error message holds it.
 */
import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { SecretBox } from '../common/secret-box';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { resolveSecretsKeys } from '../embedded/secrets';
import { ProvidersModule } from '../providers/providers.module';
import { ProvidersService } from '../providers/providers.service';
import { REDIS } from '../redis/redis.module';
import { publishCredentialChange } from './credential-change';
import { CredentialRepository } from './credential.repository';
import { CredentialService } from './credential.service';
import { StoredCredentials } from './stored-credentials';

@Module({
  imports: [ProvidersModule],
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
        // Here at once, so that the reply tells what holds; elsewhere when the message arrives.
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
