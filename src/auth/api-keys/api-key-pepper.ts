import type { FactoryProvider } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { loadOrCreateSecrets } from '../../core/secrets/service-secrets';

/** The secret for digesting keys: the configured one, else the one generated in this data directory. */
export function resolveApiKeyPepper(config: Pick<AppConfig, 'apiKeyPepper' | 'dataDir'>): string {
  return config.apiKeyPepper ?? loadOrCreateSecrets(config.dataDir).apiKeyPepper;
}

/** Token of the secret for digesting keys. */
export const API_KEY_PEPPER = Symbol('API_KEY_PEPPER');

export const apiKeyPepper: FactoryProvider<string> = {
  provide: API_KEY_PEPPER,
  inject: [APP_CONFIG],
  useFactory: resolveApiKeyPepper,
};
