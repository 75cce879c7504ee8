import { Module } from '@nestjs/common';
import { AuthModule } from '../auth.module';
import { LimitsModule } from '../rate-limits/limits.module';
import { AllowedIpGuard, ApiKeyGuard, KEY_GUARDS, type KeyGuard, ModalityGuard, RateLimitGuard } from './key.guards';

/** The guards that judge a key, in order. */
export const KEY_GUARD_ORDER = [ApiKeyGuard, AllowedIpGuard, ModalityGuard] as const;

/** The guards of routes that require an API key. */
@Module({
  imports: [AuthModule, LimitsModule],
  providers: [
    ...KEY_GUARD_ORDER,
    RateLimitGuard,
    { provide: KEY_GUARDS, inject: [...KEY_GUARD_ORDER], useFactory: (...guards: KeyGuard[]): KeyGuard[] => guards },
  ],
  exports: [...KEY_GUARD_ORDER, RateLimitGuard, KEY_GUARDS],
})
export class AuthGuardsModule {}
