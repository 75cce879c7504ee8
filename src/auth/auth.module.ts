import { Module } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { digestApiKey } from './api-keys/api-key';
import { API_KEY_PEPPER, apiKeyPepper } from './api-keys/api-key-pepper';
import { ApiKeyRepository } from './api-keys/api-key.repository';
import { ApiKeyVerifier } from './api-keys/api-key-verifier';
import { KeyInvalidationListener } from './api-keys/key-invalidation.listener';

/** Authentication: exports the verifier and forwards invalidations from other processes to it. */
@Module({
  providers: [
    apiKeyPepper,
    ApiKeyRepository,
    {
      provide: ApiKeyVerifier,
      inject: [ApiKeyRepository, CLOCK, API_KEY_PEPPER, APP_CONFIG],
      useFactory: (repository: ApiKeyRepository, clock: Clock, pepper: string, config: AppConfig): ApiKeyVerifier =>
        new ApiKeyVerifier((key) => repository.findByDigest(digestApiKey(key, pepper)), clock, {
          acceptUnchecksummedKeys: config.acceptUnchecksummedKeys,
        }),
    },
    KeyInvalidationListener,
  ],
  exports: [ApiKeyRepository, ApiKeyVerifier],
})
export class AuthModule {}
