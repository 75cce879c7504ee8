import type { ProviderEnvironment } from '../core/config/provider-environment';
import type { ProviderInstance, WeightedKey } from '../core/config/provider-instances';
import type { Provider, ProviderDefinition } from './contract/provider';
import type { KeyCoolDowns } from './key-cool-downs';
import { KeyPool, type PooledKey } from './key-pool';
import { accountIdOf, keyIdOf } from './kit/key-id';

/** A provider that uses the wire format and quirks of a module, with its own address and keys. */
export class InstanceDefinition implements ProviderDefinition {
  readonly id: string;
  /** Empty, because an instance has its own settings instead of environment variables. */
  readonly credentials: readonly string[] = [];

  constructor(
    readonly instance: ProviderInstance,
    private readonly module: ProviderDefinition,
    private readonly coolDowns: KeyCoolDowns,
  ) {
    this.id = instance.id;
  }

  /** @throws Error when the module cannot use the address or a key; the message names the variable, never the value */
  create(environment: ProviderEnvironment): Provider | null {
    const { apiKeys, baseUrl } = this.instance;
    // A server that requires no key is represented as one key without a value.
    const keys: readonly (WeightedKey | null)[] = apiKeys.length === 0 ? [null] : apiKeys;
    const pooled: PooledKey[] = [];
    for (const weighted of keys) {
      const provider = this.module.create({ ...environment, ...this.settingsOf(weighted?.key) });
      if (provider === null) continue;
      const key = weighted?.key ?? '';
      const accountId = accountIdOf(this.module.id, baseUrl, key);
      pooled.push({ id: keyIdOf(key), accountId, weight: weighted?.weight ?? 1, provider });
    }
    const [first, ...others] = pooled;
    return first === undefined ? null : new KeyPool(this.id, [first, ...others], this.coolDowns);
  }

  /**
   * The module's variables with the instance's values. The process's own variables are never used, since they belong to
   * another account.
   */
  private settingsOf(apiKey: string | undefined): ProviderEnvironment {
    const { credentials } = this.module;
    const baseUrl = this.instance.baseUrl ?? undefined;
    const settingOf = (name: string): string | undefined => {
      // The secret belongs to the process's account.
      if (name.endsWith('_SECRET')) return undefined;
      return name.endsWith('_BASE_URL') ? baseUrl : apiKey;
    };
    return Object.fromEntries(credentials.map((name) => [name, settingOf(name)]));
  }
}
