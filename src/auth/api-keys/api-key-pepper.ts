import type { FactoryProvider } from '@nestjs/common';
import { APP_CONFIG } from '../../core/config/app-config';
import { resolveApiKeyPepper } from '../../core/secrets/service-secrets';

/** Token of the secret for digesting keys. */
export const API_KEY_PEPPER = Symbol('API_KEY_PEPPER');

export const apiKeyPepper: FactoryProvider<string> = {
  provide: API_KEY_PEPPER,
  inject: [APP_CONFIG],
  useFactory: resolveApiKeyPepper,
};
