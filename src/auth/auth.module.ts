import { Module } from '@nestjs/common';
import { apiKeyPepper } from './api-keys/api-key-pepper';
import { PepperCheck } from './api-keys/pepper-check';
import { ApiKeyRepository } from './api-keys/api-key.repository';
import { ApiKeyVerifier } from './api-keys/api-key-verifier';
import { KeyInvalidationListener } from './api-keys/key-invalidation.listener';

/** Authentication: exports the verifier and forwards invalidations from other processes to it. */
@Module({
  providers: [apiKeyPepper, PepperCheck, ApiKeyRepository, ApiKeyVerifier, KeyInvalidationListener],
  exports: [ApiKeyRepository, ApiKeyVerifier],
})
export class AuthModule {}
