import { ProvidersModule } from './providers/providers.module';

/**
 * The providers of the gateway, its workers and its command line. Add modules with providers of your own here (README
 * of `providers`).
 */
export const PROVIDER_MODULES = [ProvidersModule];
