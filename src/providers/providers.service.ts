import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import type { ProviderEnvironment } from '../core/config/provider-environment';
import type { ProviderInstance } from '../core/config/provider-instances';
import { GatewayError } from '../core/errors/gateway-error';
import type { Provider, ProviderDefinition } from './contract/provider';
import { CurrentProvider } from './current-provider';
import { InstanceDefinition } from './instance-definition';
import { KeyCoolDowns } from './key-cool-downs';
import { KeyPool } from './key-pool';
import { ProviderRegistry } from './provider-registry';

/** A setting that a provider reads, and where its value comes from; `null`: not set. */
export interface CredentialSource {
  readonly name: string;
  readonly source: 'environment' | 'stored' | null;
}

export interface ProviderStanding {
  readonly id: string;
  /** The id of the module of an instance; `null` for other providers. */
  readonly module: string | null;
  readonly configured: boolean;
  readonly simulated: boolean;
  readonly credentials: readonly CredentialSource[];
}

/** Receives the ids of providers that were added, removed or changed, after the change. Must not reject. */
export type ProvidersListener = (changedIds: ReadonlySet<string>) => Promise<void>;

/** The settings that operators have stored. */
export interface StoredProviders {
  /** By variable name; they take precedence over the environment. */
  readonly credentials: ProviderEnvironment;
  readonly instances: readonly ProviderInstance[];
}

/**
 * The configured providers: those of the modules, from the process's environment and stored credentials, and named
 * instances, from a file and the database. A stored change takes effect at once: the provider is recreated and the next
 * call uses the new one. Calls in flight finish on the old provider, which is then closed.
 */
@Injectable()
export class ProvidersService implements OnModuleInit, OnApplicationShutdown {
  /** Always the same set; its members follow the stored credentials. */
  readonly configuredIds: ReadonlySet<string>;
  private readonly logger = new Logger(ProvidersService.name);
  private readonly environment: ProviderEnvironment;
  private modules: readonly ProviderDefinition[] = [];
  private definedInFile: readonly InstanceDefinition[] = [];
  private storedInstances: readonly InstanceDefinition[] = [];
  private stored: ProviderEnvironment = {};
  private readonly ids = new Set<string>();
  private readonly providers = new Map<string, CurrentProvider>();
  private readonly draining = new Set<Provider>();
  private readonly listeners: ProvidersListener[] = [];

  constructor(
    private readonly registry: ProviderRegistry,
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly coolDowns: KeyCoolDowns,
  ) {
    this.environment = config.providers;
    this.configuredIds = this.ids;
  }

  /**
   * Creates the configured providers, before the modules that import `ProvidersModule` initialize.
   * @throws Error when a provider's settings are invalid, naming the variable or instance, or when two providers have
   *   the same id
   */
  onModuleInit(): void {
    this.modules = this.registry.collect();
    for (const module of this.modules) this.put(module, module.create(this.environment));
    this.definedInFile = this.config.providerInstances.map((instance) => {
      const definition = this.toDefinition(instance);
      this.put(definition, this.createInstance(definition));
      return definition;
    });
  }

  /** The provider with this id; `undefined` when it does not exist or is not configured. */
  get(id: string): Provider | undefined {
    return this.ids.has(id) ? this.providers.get(id) : undefined;
  }

  onChange(listener: ProvidersListener): void {
    this.listeners.push(listener);
  }

  /**
   * Replaces the settings that operators have stored. Resolves when all listeners have been notified. If a provider
   * cannot be recreated, the old one stays in use.
   */
  async use({ credentials, instances }: StoredProviders): Promise<void> {
    const before = this.effective;
    this.stored = credentials;
    const changed: ProviderDefinition[] = this.modules.filter((module) =>
      module.credentials.some((name) => before[name] !== this.effective[name]),
    );
    changed.push(...this.replaceInstances(instances));
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
    for (const module of this.modules.filter(({ credentials }) => credentials.includes(name))) {
      await module.create({ ...this.effective, [name]: value })?.close();
    }
  }

  /**
   * Checks that an instance could be created if it were stored.
   * @throws GatewayError `validation_failed`, naming the field
   */
  async rehearseInstance(instance: ProviderInstance): Promise<void> {
    const taken = [...this.modules, ...this.definedInFile].some(({ id }) => id === instance.id);
    if (taken) throw invalid('id', `A provider with the id ${instance.id} exists already.`);
    if (!this.modules.some(({ id }) => id === instance.module))
      throw invalid('module', 'No provider module has this id.');
    let provider: Provider | null;
    try {
      provider = this.toDefinition(instance).create(this.environment);
    } catch {
      throw invalid('base_url', 'The module cannot use this base URL.');
    }
    if (provider !== null) return provider.close();
    const missing = instance.apiKeys.length === 0 ? 'api_keys' : 'base_url';
    throw invalid(missing, `The module requires ${missing}.`);
  }

  /** The instances of `PROVIDERS_FILE`. */
  get fileInstances(): readonly ProviderInstance[] {
    return this.config.providerInstances;
  }

  /** The credential names that an operator may store, sorted. */
  get storableCredentials(): readonly string[] {
    return [...new Set(this.modules.flatMap(({ credentials }) => credentials))].toSorted();
  }

  /** Every provider of this build and every instance, configured or not. */
  describe(): readonly ProviderStanding[] {
    return this.definitions.map((definition) => ({
      id: definition.id,
      module: definition instanceof InstanceDefinition ? definition.instance.module : null,
      configured: this.ids.has(definition.id),
      simulated: this.providers.get(definition.id)?.simulated === true,
      credentials: definition.credentials.map((name) => ({ name, source: this.sourceOf(name) })),
    }));
  }

  sourceOf(name: string): CredentialSource['source'] {
    if (this.stored[name] !== undefined) return 'stored';
    return this.environment[name] === undefined ? null : 'environment';
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.providers.values(), ...this.draining].map((provider) => provider.close()));
  }

  private get definitions(): readonly ProviderDefinition[] {
    return [...this.modules, ...this.definedInFile, ...this.storedInstances];
  }

  private get effective(): ProviderEnvironment {
    return { ...this.environment, ...this.stored };
  }

  /** Adopts the stored instances and returns those that changed; a removed instance can no longer be created. */
  private replaceInstances(instances: readonly ProviderInstance[]): ProviderDefinition[] {
    const before = new Map(this.storedInstances.map((definition) => [definition.id, definition]));
    const others = new Set([...this.modules, ...this.definedInFile].map(({ id }) => id));
    const kept: InstanceDefinition[] = [];
    const changed: ProviderDefinition[] = [];
    for (const instance of instances) {
      const known = before.get(instance.id);
      if (known !== undefined && JSON.stringify(known.instance) === JSON.stringify(instance)) {
        kept.push(known);
        before.delete(instance.id);
        continue;
      }
      // A later release may add a provider with the instance's id, or remove its module.
      const isUsable = !others.has(instance.id) && this.modules.some(({ id }) => id === instance.module);
      if (!isUsable) {
        const message =
          'a stored provider instance has the id of another provider or an unknown module; it is not used';
        this.logger.error({ event: 'provider_instance_unusable', message, provider: instance.id });
        continue;
      }
      before.delete(instance.id);
      const definition = this.toDefinition(instance);
      kept.push(definition);
      changed.push(definition);
    }
    const removed = [...before.keys()].map((id) => ({ id, credentials: [], create: () => null }));
    this.storedInstances = kept;
    return [...changed, ...removed];
  }

  /** @throws Error when no module has the id */
  private toDefinition(instance: ProviderInstance): InstanceDefinition {
    const module = this.modules.find(({ id }) => id === instance.module);
    if (module === undefined) throw new Error(`Provider ${instance.id}: there is no module "${instance.module}".`);
    return new InstanceDefinition(instance, module, this.coolDowns);
  }

  private createInstance(definition: InstanceDefinition): Provider {
    const provider = definition.create(this.environment);
    if (provider !== null) return provider;
    throw new Error(`Provider ${definition.id}: its module needs a base URL or a key that is not set.`);
  }

  private renew(definition: ProviderDefinition): void {
    const former = this.ids.has(definition.id) ? this.providers.get(definition.id)?.current : undefined;
    try {
      this.put(definition, definition.create(this.effective));
      if (former instanceof KeyPool) former.endCoolDowns();
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

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
