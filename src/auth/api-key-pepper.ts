import type { AppConfig } from '../config/app-config';
import { loadOrCreateSecrets } from '../embedded/secrets';

/** The secret under which keys are digested: the configured one, else the one this data directory made up. */
export function resolveApiKeyPepper(config: Pick<AppConfig, 'apiKeyPepper' | 'dataDir'>): string {
  return config.apiKeyPepper ?? loadOrCreateSecrets(config.dataDir).apiKeyPepper;
}
