import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import type { Provider } from './contract/provider';
import { PROVIDER_DEFINITIONS } from './registry';

/** The providers that this deployment has settings for, made once at start. */
@Injectable()
export class ProvidersService implements OnApplicationShutdown {
  readonly configuredIds: ReadonlySet<string>;
  private readonly providers: ReadonlyMap<string, Provider>;

  /** @throws Error when a provider's settings are wrong; its message names the variable */
  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    const providers = PROVIDER_DEFINITIONS.map((definition) => definition.create(config.providers));
    this.providers = new Map(
      providers.filter((provider) => provider !== null).map((provider) => [provider.id, provider]),
    );
    this.configuredIds = new Set(this.providers.keys());
  }

  /** The provider with this id, `undefined` when there is none or it is not configured. */
  get(id: string): Provider | undefined {
    return this.providers.get(id);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.providers.values()].map((provider) => provider.close()));
  }
}
