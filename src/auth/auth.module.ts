import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../common/clock';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { digestApiKey } from './api-key';
import { resolveApiKeyPepper } from './api-key-pepper';
import { ApiKeyRepository } from './api-key.repository';
import { ApiKeyVerifier } from './api-key-verifier';
import { KeyInvalidationListener } from './key-invalidation.listener';

/** Authentication: offers the verifier, and keeps it informed of changes made elsewhere. */
@Module({
  providers: [
    {
      provide: ApiKeyRepository,
      inject: [DataSource],
      useFactory: (dataSource: DataSource): ApiKeyRepository => new ApiKeyRepository(dataSource),
    },
    {
      provide: ApiKeyVerifier,
      inject: [ApiKeyRepository, CLOCK, APP_CONFIG],
      useFactory: (repository: ApiKeyRepository, clock: Clock, config: AppConfig): ApiKeyVerifier => {
        const pepper = resolveApiKeyPepper(config);
        return new ApiKeyVerifier((key) => repository.findByDigest(digestApiKey(key, pepper)), clock, {
          acceptUnchecksummedKeys: config.acceptUnchecksummedKeys,
        });
      },
    },
    KeyInvalidationListener,
  ],
  exports: [ApiKeyRepository, ApiKeyVerifier],
})
export class AuthModule {}
