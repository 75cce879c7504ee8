import type { AppConfig } from '../../core/config/app-config';
import { loadOrCreateSecrets } from '../../core/secrets/service-secrets';

/** The secret for digesting keys: the configured one, else the one generated in this data directory. */
export function resolveApiKeyPepper(config: Pick<AppConfig, 'apiKeyPepper' | 'dataDir'>): string {
  return config.apiKeyPepper ?? loadOrCreateSecrets(config.dataDir).apiKeyPepper;
}
