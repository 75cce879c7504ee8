/**
 * Keys, base URLs and named instances of providers that operators store in the database, sealed under `SECRETS_KEY`,
 * instead of in the environment of every process. Neighbours: `providers` uses them; the dashboard and the command line
 * set them. Invariant: a value is sent only to its provider; no response, log, audit entry or error message contains
 * it.
 */
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { Module } from '@nestjs/common';
import { SecretsModule } from '../../core/secrets/secrets.module';
import { ProvidersModule } from '../../providers/providers.module';
import { CredentialAnnouncer, StoredCredentials } from './stored-credentials';
import { ProviderInstanceRepository } from './provider-instance.repository';
import { ProviderInstanceService } from './provider-instance.service';
import { CredentialRepository } from './credential.repository';
import { CredentialService } from './credential.service';

@Module({
  imports: [SchedulingModule, SecretsModule, ProvidersModule],
  providers: [
    CredentialAnnouncer,
    CredentialRepository,
    CredentialService,
    ProviderInstanceRepository,
    ProviderInstanceService,
    StoredCredentials,
  ],
  exports: [CredentialService, ProviderInstanceService],
})
export class CredentialsModule {}
