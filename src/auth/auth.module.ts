import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { digestApiKey } from './api-keys/api-key';
import { resolveApiKeyPepper } from './api-keys/api-key-pepper';
import { ApiKeyRepository } from './api-keys/api-key.repository';
import { ApiKeyVerifier } from './api-keys/api-key-verifier';
import { KeyInvalidationListener } from './api-keys/key-invalidation.listener';

/** Authentication: exports the verifier and forwards invalidations from other processes to it. */
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
