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
      provide: ApiKeyVerifier,
      inject: [DataSource, CLOCK, APP_CONFIG],
      useFactory: (dataSource: DataSource, clock: Clock, config: AppConfig): ApiKeyVerifier => {
        const repository = new ApiKeyRepository(dataSource);
        const pepper = resolveApiKeyPepper(config);
        return new ApiKeyVerifier((key) => repository.findByDigest(digestApiKey(key, pepper)), clock, {
          acceptUnchecksummedKeys: config.acceptUnchecksummedKeys,
        });
      },
    },
    KeyInvalidationListener,
  ],
  exports: [ApiKeyVerifier],
})
export class AuthModule {}
