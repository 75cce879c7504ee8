import type { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import { type ResealSummary, resealTable } from '../../core/secrets/reseal';
import { keyIdOf, type SecretBox } from '../../core/secrets/secret-box';
import { VISIBLE_ASCII } from '../../core/config/provider-instances';
import { baseUrl, kindOf } from '../../core/config/setting-kinds';
import type { ProviderCredentialEntity } from '../../core/database/entities/provider-credential.entity';
import type { ProvidersService } from '../../providers/providers.service';
import type { CredentialRepository } from './credential.repository';

/** A name that operators may store a value for, with metadata of the stored value but never the value. */
export interface CredentialRecord {
  readonly name: string;
  /** Source of the effective value in this process; `null`: there is none. */
  readonly source: 'environment' | 'stored' | null;
  /** `null`: nothing is stored. */
  readonly stored: {
    /** Public id of the key of `SECRETS_KEY` that it is sealed with. */
    readonly keyId: string;
    /** Whether this process can decrypt it. */
    readonly readable: boolean;
    /** The last four characters of a long key. */
    readonly last4: string | null;
    readonly updatedAt: Date;
  } | null;
}

export interface CredentialServiceOptions {
  readonly dataSource: DataSource;
  readonly repository: CredentialRepository;
  readonly box: SecretBox;
  readonly providers: Pick<ProvidersService, 'rehearse' | 'sourceOf' | 'storableCredentials'>;
  /** Makes every process reload the stored values; never rejects. */
  readonly announce: () => Promise<void>;
}

const MAX_LENGTH = 4_096;
/** Four characters of a shorter key would reveal too much. */
const MIN_LENGTH_OF_SHOWN = 20;

/** Keys and base URLs of providers that operators store: sealed, and never returned. */
export class CredentialService {
  constructor(private readonly options: CredentialServiceOptions) {}

  /** Every name that can be stored, sorted. */
  async list(): Promise<CredentialRecord[]> {
    const stored = new Map((await this.options.repository.list()).map((row) => [row.name, row]));
    return this.options.providers.storableCredentials.map((name) => this.describe(name, stored.get(name)));
  }

  /**
   * Stores a value, which overrides the environment in every process.
   * @throws GatewayError `not_found` for a name that no provider reads, `validation_failed` for a value that it cannot use.
   */
  async set(name: string, value: string, actor: Actor): Promise<CredentialRecord> {
    const { repository, box, providers } = this.options;
    this.assertKnown(name);
    const accepted = parseValue(name, value);
    await providers.rehearse(name, accepted).catch(() => {
      throw invalid(`${name} cannot be used by its provider`);
    });
    const row = { name, sealed: box.seal(accepted, purposeOf(name)), last4: endOf(name, accepted) };
    return this.change(name, 'credential.set', actor, (manager) => repository.put(manager, row));
  }

  /**
   * Deletes a stored value; the environment's value, if there is one, applies again.
   * @throws GatewayError `not_found` when nothing is stored.
   */
  async remove(name: string, actor: Actor): Promise<void> {
    const { repository } = this.options;
    this.assertKnown(name);
    await this.change(name, 'credential.deleted', actor, async (manager) => {
      if ((await repository.find(manager, name)) === null) throw notFound('No value is stored for this name.');
      await repository.remove(manager, name);
    });
  }

  /** Seals all values with the first key of `SECRETS_KEY`. */
  reseal(): Promise<ResealSummary> {
    const { repository, box } = this.options;
    const table = {
      purposeOf,
      // Returns all rows at once: there are at most as many as provider settings.
      next: async (afterId: string) =>
        (await repository.list())
          .map(({ name, sealed }) => ({ id: name, sealed }))
          .filter(({ id }) => id > afterId)
          .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      replace: ({ id, sealed }: { id: string; sealed: string }, resealed: string) =>
        repository.replaceSealed(id, sealed, resealed),
    };
    return resealTable(table, box);
  }

  private async change(
    name: string,
    action: string,
    actor: Actor,
    write: (manager: DataSource['manager']) => Promise<void>,
  ): Promise<CredentialRecord> {
    const { dataSource, repository, announce } = this.options;
    await dataSource.transaction(async (manager) => {
      const before = await repository.find(manager, name);
      await write(manager);
      const after = await repository.find(manager, name);
      await recordAudit(manager, {
        organizationId: null,
        actor,
        action,
        target: { type: 'provider_credential', id: name },
        before: { stored: before !== null },
        after: { stored: after !== null },
      });
    });
    await announce();
    const rows = await repository.list();
    return this.describe(
      name,
      rows.find((row) => row.name === name),
    );
  }

  private assertKnown(name: string): void {
    if (this.options.providers.storableCredentials.includes(name)) return;
    throw notFound('No provider has a setting with this name.');
  }

  private describe(name: string, row: ProviderCredentialEntity | undefined): CredentialRecord {
    const { box, providers } = this.options;
    if (row === undefined) return { name, source: providers.sourceOf(name), stored: null };
    const { sealed, last4, updatedAt } = row;
    const readable = openCredential(box, row) !== null;
    const source = readable ? 'stored' : providers.sourceOf(name);
    return { name, source, stored: { keyId: keyIdOf(sealed), readable, last4, updatedAt } };
  }
}

/** The value; `null` when its key is not set, or the sealed value was modified. */
export function openCredential(
  box: SecretBox,
  { name, sealed }: Pick<ProviderCredentialEntity, 'name' | 'sealed'>,
): string | null {
  try {
    return box.unseal(sealed, purposeOf(name));
  } catch {
    return null;
  }
}

/** Binds a value to its name: a key must not become the base URL that keys are sent to. */
function purposeOf(name: string): string {
  return `provider credential ${name}`;
}

function parseValue(name: string, value: string): string {
  if (value.length > MAX_LENGTH || !VISIBLE_ASCII.test(value)) {
    throw invalid(`${name} must be 1 to ${MAX_LENGTH} visible ASCII characters without spaces`);
  }
  if (!isBaseUrl(name)) return value;
  const url = baseUrl.safeParse(value);
  if (!url.success) throw invalid(`${name} must be ${kindOf(baseUrl).accepts}`);
  return url.data;
}

function endOf(name: string, value: string): string | null {
  return isBaseUrl(name) ? null : lastCharactersOf(value);
}

/** The last four characters of a key, by which operators recognize it; `null` for a short one. */
export function lastCharactersOf(key: string): string | null {
  return key.length < MIN_LENGTH_OF_SHOWN ? null : key.slice(-4);
}

function isBaseUrl(name: string): boolean {
  return name.endsWith('_BASE_URL');
}

function invalid(message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param: 'value' });
}

function notFound(message: string): GatewayError {
  return new GatewayError('not_found', message);
}
