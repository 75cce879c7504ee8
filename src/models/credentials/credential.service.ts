import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import { type ResealSummary, resealTable } from '../../core/secrets/reseal';
import { keyIdOf, SecretBox } from '../../core/secrets/secret-box';
import { VISIBLE_ASCII } from '../../core/config/provider-instances';
import { baseUrl, kindOf } from '../../core/config/setting-kinds';
import type { ProviderCredentialEntity } from '../../core/database/entities/provider-credential.entity';
import { ProvidersService } from '../../providers/providers.service';
import { CredentialRepository } from './credential.repository';
import { openCredential, purposeOf } from './sealed-credential';
import { CredentialAnnouncer } from './stored-credentials';

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

const MAX_LENGTH = 4_096;
/** Four characters of a shorter key would reveal too much. */
const MIN_LENGTH_OF_SHOWN = 20;

/** Keys and base URLs of providers that operators store: sealed, and never returned. */
@Injectable()
export class CredentialService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly repository: CredentialRepository,
    private readonly box: SecretBox,
    @Inject(ProvidersService)
    private readonly providers: Pick<ProvidersService, 'rehearse' | 'sourceOf' | 'storableCredentials'>,
    @Inject(CredentialAnnouncer) private readonly announcer: Pick<CredentialAnnouncer, 'announce'>,
  ) {}

  /** Every name that can be stored, sorted. */
  async list(): Promise<CredentialRecord[]> {
    const stored = new Map((await this.repository.list()).map((row) => [row.name, row]));
    return this.providers.storableCredentials.map((name) => this.describe(name, stored.get(name)));
  }

  /**
   * Stores a value, which overrides the environment in every process.
   * @throws GatewayError `not_found` for a name that no provider reads, `validation_failed` for a value that it cannot
   * use.
   */
  async set(name: string, value: string, actor: Actor): Promise<CredentialRecord> {
    this.assertKnown(name);
    const accepted = parseValue(name, value);
    await this.providers.rehearse(name, accepted).catch(() => {
      throw invalid(`${name} cannot be used by its provider`);
    });
    const row = { name, sealed: this.box.seal(accepted, purposeOf(name)), last4: endOf(name, accepted) };
    return this.change(name, 'credential.set', actor, (manager) => this.repository.put(manager, row));
  }

  /**
   * Deletes a stored value; the environment's value, if there is one, applies again.
   * @throws GatewayError `not_found` when nothing is stored.
   */
  async remove(name: string, actor: Actor): Promise<void> {
    this.assertKnown(name);
    await this.change(name, 'credential.deleted', actor, async (manager) => {
      if ((await this.repository.find(manager, name)) === null) {
        throw new GatewayError('not_found', 'No value is stored for this name.');
      }
      await this.repository.remove(manager, name);
    });
  }

  /** Seals all values with the first key of `SECRETS_KEY`. */
  reseal(): Promise<ResealSummary> {
    const table = {
      purposeOf,
      // Returns all rows at once: there are at most as many as provider settings.
      next: async (afterId: string) =>
        (await this.repository.list())
          .map(({ name, sealed }) => ({ id: name, sealed }))
          .filter(({ id }) => id > afterId)
          .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      replace: ({ id, sealed }: { id: string; sealed: string }, resealed: string) =>
        this.repository.replaceSealed(id, sealed, resealed),
    };
    return resealTable(table, this.box);
  }

  private async change(
    name: string,
    action: string,
    actor: Actor,
    write: (manager: DataSource['manager']) => Promise<void>,
  ): Promise<CredentialRecord> {
    await this.dataSource.transaction(async (manager) => {
      const before = await this.repository.find(manager, name);
      await write(manager);
      const after = await this.repository.find(manager, name);
      await recordAudit(manager, {
        organizationId: null,
        actor,
        action,
        target: { type: 'provider_credential', id: name },
        before: { stored: before !== null },
        after: { stored: after !== null },
      });
    });
    await this.announcer.announce();
    const rows = await this.repository.list();
    return this.describe(
      name,
      rows.find((row) => row.name === name),
    );
  }

  private assertKnown(name: string): void {
    if (this.providers.storableCredentials.includes(name)) return;
    throw new GatewayError('not_found', 'No provider has a setting with this name.', { param: 'name' });
  }

  private describe(name: string, row: ProviderCredentialEntity | undefined): CredentialRecord {
    if (row === undefined) return { name, source: this.providers.sourceOf(name), stored: null };
    const { sealed, last4, updatedAt } = row;
    const readable = openCredential(this.box, row) !== null;
    const source = readable ? 'stored' : this.providers.sourceOf(name);
    return { name, source, stored: { keyId: keyIdOf(sealed), readable, last4, updatedAt } };
  }
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

/** The last four characters of a key, so that operators recognize it; `null` for a short key. */
export function lastCharactersOf(key: string): string | null {
  return key.length < MIN_LENGTH_OF_SHOWN ? null : key.slice(-4);
}

function isBaseUrl(name: string): boolean {
  return name.endsWith('_BASE_URL');
}

function invalid(message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param: 'value' });
}
