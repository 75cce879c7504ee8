import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { ProviderEnvironment } from '../core/config/provider-environment';
import type { Provider, ProviderDefinition } from './contract/provider';
import { CurrentProvider } from './current-provider';
import { ProviderRegistry } from './provider-registry';

/** A setting that a provider reads, and where its value comes from; `null`: not set. */
export interface CredentialSource {
  readonly name: string;
  readonly source: 'environment' | 'stored' | null;
}

export interface ProviderStanding {
  readonly id: string;
  readonly configured: boolean;
  readonly simulated: boolean;
  readonly credentials: readonly CredentialSource[];
}

/** Receives the ids of providers that were added, removed or changed, after the change. Must not reject. */
export type ProvidersListener = (changedIds: ReadonlySet<string>) => Promise<void>;

/**
 * The configured providers: from the environment of the process and from credentials that operators have stored, which
 * take precedence. A stored value takes effect at once: the provider is recreated, the next call uses the new instance,
 * and calls in flight finish on the old one, which is closed after them.
 */
@Injectable()
export class ProvidersService implements OnModuleInit, OnApplicationShutdown {
  /** Always the same set; its members follow the stored credentials. */
  readonly configuredIds: ReadonlySet<string>;
  private readonly logger = new Logger(ProvidersService.name);
  private readonly environment: ProviderEnvironment;
  private definitions: readonly ProviderDefinition[] = [];
  private stored: ProviderEnvironment = {};
  private readonly ids = new Set<string>();
  private readonly providers = new Map<string, CurrentProvider>();
  private readonly draining = new Set<Provider>();
  private readonly listeners: ProvidersListener[] = [];

  constructor(
    private readonly registry: ProviderRegistry,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.environment = config.providers;
    this.configuredIds = this.ids;
  }

  /**
   * Creates the configured providers. Modules that import `ProvidersModule` initialize afterwards.
   * @throws Error when a provider's settings are invalid, naming the variable, or when two providers have the same id
   */
  onModuleInit(): void {
    this.definitions = this.registry.collect();
    for (const definition of this.definitions) this.put(definition, definition.create(this.environment));
  }

  /** The provider with this id; `undefined` when it does not exist or is not configured. */
  get(id: string): Provider | undefined {
    return this.ids.has(id) ? this.providers.get(id) : undefined;
  }

  onChange(listener: ProvidersListener): void {
    this.listeners.push(listener);
  }

  /**
   * Replaces the stored credentials. Resolves when all listeners have been notified. A provider that cannot be created
   * from them stays as it is.
   */
  async use(stored: ProviderEnvironment): Promise<void> {
    const before = this.effective;
    this.stored = stored;
    const changed = this.definitions.filter(({ credentials }) =>
      credentials.some((name) => before[name] !== this.effective[name]),
    );
    for (const definition of changed) this.renew(definition);
    if (changed.length === 0) return;
    const ids = new Set(changed.map(({ id }) => id));
    await Promise.all(this.listeners.map((listener) => listener(ids)));
  }

  /**
   * Checks that the provider could be created if this value were stored.
   * @throws Error that names the variable, never the value
   */
  async rehearse(name: string, value: string): Promise<void> {
    for (const definition of this.definitions.filter(({ credentials }) => credentials.includes(name))) {
      await definition.create({ ...this.effective, [name]: value })?.close();
    }
  }

  /** The credential names that an operator may store, sorted. */
  get storableCredentials(): readonly string[] {
    return [...new Set(this.definitions.flatMap(({ credentials }) => credentials))].toSorted();
  }

  /** Every provider of this build, configured or not. */
  describe(): readonly ProviderStanding[] {
    return this.definitions.map(({ id, credentials }) => ({
      id,
      configured: this.ids.has(id),
      simulated: this.providers.get(id)?.simulated === true,
      credentials: credentials.map((name) => ({ name, source: this.sourceOf(name) })),
    }));
  }

  sourceOf(name: string): CredentialSource['source'] {
    if (this.stored[name] !== undefined) return 'stored';
    return this.environment[name] === undefined ? null : 'environment';
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.providers.values(), ...this.draining].map((provider) => provider.close()));
  }

  private get effective(): ProviderEnvironment {
    return { ...this.environment, ...this.stored };
  }

  private renew(definition: ProviderDefinition): void {
    try {
      this.put(definition, definition.create(this.effective));
    } catch (error) {
      const message = 'stored provider settings are invalid; keeping the previous ones';
      this.logger.error({ event: 'provider_settings_invalid', message, provider: definition.id, err: error });
      return;
    }
    const message = this.ids.has(definition.id) ? 'provider settings changed' : 'provider is no longer configured';
    this.logger.log({ event: 'provider_settings_changed', message, provider: definition.id });
  }

  private put({ id }: ProviderDefinition, provider: Provider | null): void {
    const known = this.providers.get(id);
    const former = this.ids.has(id) ? known?.current : undefined;
    if (provider === null) {
      this.ids.delete(id);
    } else {
      this.ids.add(id);
      if (known === undefined) this.providers.set(id, new CurrentProvider(provider));
      else known.current = provider;
    }
    // A request that looked the provider up before its removal may still call it; that call fails before anything is
    // sent.
    if (former !== undefined) void this.retire(former);
  }

  private async retire(provider: Provider): Promise<void> {
    this.draining.add(provider);
    try {
      await provider.drain?.();
      await provider.close();
    } catch (error) {
      this.logger.warn({
        event: 'provider_close_failed',
        message: 'a replaced provider did not close',
        provider: provider.id,
        err: error,
      });
    } finally {
      this.draining.delete(provider);
    }
  }
}
