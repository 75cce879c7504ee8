import { IsNull, type DataSource, type EntityManager } from 'typeorm';
import { digestApiKey, generateApiKey, toDisplayParts } from '../auth/api-key';
import { publishKeyInvalidation, type KeyInvalidationTransport } from '../auth/key-invalidation';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import { ApiKeyEntity } from '../database/entities/api-key.entity';
import { OrganizationEntity } from '../database/entities/organization.entity';
import {
  parseApiKeyLimits,
  parseApiKeySettings,
  type ApiKeyLimits,
  type ApiKeySettings,
  type ApiKeySettingsInput,
} from './api-key-settings';
import { organizationNotFound } from './organization.service';

/** Keys that are not revoked; a rotated key in its grace period does not count. */
export const MAX_KEYS_PER_ORGANIZATION = 100;
export const MAX_GRACE_SECONDS = 30 * 24 * 3600;

/** The only moment at which `key` exists in readable form: show it once, store it nowhere. */
export interface IssuedApiKey {
  readonly key: string;
  readonly apiKey: ApiKeyEntity;
}

export interface RotatedApiKey extends IssuedApiKey {
  readonly replaced: ApiKeyEntity;
}

/**
 * Issues and administers keys. Where a method takes an `organizationId` beside a key's id, a key of another
 * organization is `not_found`: pass it whenever the caller acts for one organization.
 */
export class ApiKeyService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transport: KeyInvalidationTransport,
    private readonly clock: Clock,
    private readonly pepper: string,
  ) {}

  /** @throws GatewayError `not_found`, `validation_failed`, `max_api_keys_reached`. */
  create(organizationId: string, input: ApiKeySettingsInput = {}): Promise<IssuedApiKey> {
    const settings = parseApiKeySettings(input, this.clock.now());
    return this.dataSource.transaction(async (manager) => {
      // Two calls at once must not both see room for the last key. Reservations and logins do not take this lock.
      const organization = await manager.findOne(OrganizationEntity, {
        where: { id: organizationId },
        lock: { mode: 'for_no_key_update' },
      });
      if (organization === null) throw organizationNotFound();
      const keys = await manager.countBy(ApiKeyEntity, { organizationId, revokedAt: IsNull() });
      if (keys >= MAX_KEYS_PER_ORGANIZATION) {
        throw new GatewayError(
          'max_api_keys_reached',
          `The organization has ${MAX_KEYS_PER_ORGANIZATION} API keys, which is the most it may have. Revoke one first.`,
        );
      }
      return this.issue(manager, organizationId, settings, true);
    });
  }

  /** Every key of the organization, revoked ones included, oldest first. */
  async list(organizationId: string): Promise<ApiKeyEntity[]> {
    const known = await this.dataSource.getRepository(OrganizationEntity).existsBy({ id: organizationId });
    if (!known) throw organizationNotFound();
    return this.dataSource
      .getRepository(ApiKeyEntity)
      .find({ where: { organizationId }, order: { createdAt: 'ASC', id: 'ASC' } });
  }

  /** @throws GatewayError `not_found`, `conflict` when the key is revoked. */
  disable(keyId: string, organizationId?: string): Promise<ApiKeyEntity> {
    return this.setEnabled(keyId, false, organizationId);
  }

  /** @throws GatewayError `not_found`, `conflict` when the key is revoked. */
  enable(keyId: string, organizationId?: string): Promise<ApiKeyEntity> {
    return this.setEnabled(keyId, true, organizationId);
  }

  /**
   * @param limits `null`: no such limit. Those that are not named stay as they are; so does what the key has used of them.
   * @throws GatewayError `not_found`, `validation_failed`, `conflict` when the key is revoked.
   */
  async setLimits(keyId: string, limits: Partial<ApiKeyLimits>, organizationId?: string): Promise<ApiKeyEntity> {
    const changes = parseApiKeyLimits(limits);
    return this.change(keyId, organizationId, async (manager, apiKey) => {
      if (this.isRevoked(apiKey)) throw conflict('The API key is revoked, which cannot be undone.');
      if (Object.keys(changes).length > 0) await manager.update(ApiKeyEntity, { id: keyId }, changes);
      return requireKey(manager, keyId);
    });
  }

  /** Ends the key for good, at once, also when it is in a grace period. @throws GatewayError `not_found`. */
  revoke(keyId: string, organizationId?: string): Promise<ApiKeyEntity> {
    return this.change(keyId, organizationId, async (manager, apiKey) => {
      if (this.isRevoked(apiKey)) return apiKey;
      await manager.update(ApiKeyEntity, { id: keyId }, { revokedAt: () => 'now()' });
      return requireKey(manager, keyId);
    });
  }

  /**
   * A new key with the same settings. The old one is revoked now, or goes on working for `graceSeconds`.
   * @throws GatewayError `not_found`, `validation_failed`, `conflict` when the key is revoked, replaced or expired.
   */
  async rotate(keyId: string, graceSeconds = 0, organizationId?: string): Promise<RotatedApiKey> {
    if (!Number.isInteger(graceSeconds) || graceSeconds < 0 || graceSeconds > MAX_GRACE_SECONDS) {
      throw new GatewayError('validation_failed', `grace_seconds must be an integer of 0 to ${MAX_GRACE_SECONDS}.`, {
        param: 'grace_seconds',
      });
    }
    return this.change(keyId, organizationId, async (manager, replaced) => {
      if (replaced.revokedAt !== null) throw conflict('The API key is revoked or already replaced.');
      if (replaced.expiresAt !== null && replaced.expiresAt.getTime() <= this.clock.now()) {
        throw conflict('The API key has expired. Create a new one.');
      }
      const issued = await this.issue(manager, replaced.organizationId, replaced, replaced.enabled);
      await manager
        .createQueryBuilder()
        .update(ApiKeyEntity)
        .set({ replacedBy: issued.apiKey.id, revokedAt: () => 'now() + make_interval(secs => :graceSeconds)' })
        .where({ id: keyId })
        .setParameters({ graceSeconds })
        .execute();
      return { ...issued, replaced: await requireKey(manager, keyId) };
    });
  }

  private setEnabled(keyId: string, enabled: boolean, organizationId?: string): Promise<ApiKeyEntity> {
    return this.change(keyId, organizationId, async (manager, apiKey) => {
      if (this.isRevoked(apiKey)) throw conflict('The API key is revoked, which cannot be undone.');
      await manager.update(ApiKeyEntity, { id: keyId }, { enabled });
      return requireKey(manager, keyId);
    });
  }

  /** Runs a change with the key's row locked, and announces it once it is committed. */
  private async change<Result>(
    keyId: string,
    organizationId: string | undefined,
    work: (manager: EntityManager, apiKey: ApiKeyEntity) => Promise<Result>,
  ): Promise<Result> {
    const result = await this.dataSource.transaction(async (manager) => {
      const apiKey = await manager.findOne(ApiKeyEntity, {
        where: organizationId === undefined ? { id: keyId } : { id: keyId, organizationId },
        lock: { mode: 'for_no_key_update' },
      });
      if (apiKey === null) throw keyNotFound();
      return work(manager, apiKey);
    });
    await publishKeyInvalidation(this.transport, { scope: 'key', keyId });
    return result;
  }

  private async issue(
    manager: EntityManager,
    organizationId: string,
    settings: ApiKeySettings,
    enabled: boolean,
  ): Promise<IssuedApiKey> {
    const key = generateApiKey();
    const id = uuidV7(this.clock.now());
    await manager.insert(ApiKeyEntity, {
      id,
      organizationId,
      digest: digestApiKey(key, this.pepper),
      ...toDisplayParts(key),
      enabled,
      name: settings.name,
      expiresAt: settings.expiresAt,
      allowedIps: toMutable(settings.allowedIps),
      allowedModels: toMutable(settings.allowedModels),
      allowedModalities: toMutable(settings.allowedModalities),
      requestsPerSecond: settings.requestsPerSecond,
      requestsPerMinute: settings.requestsPerMinute,
      tokensPerMinute: settings.tokensPerMinute,
      concurrency: settings.concurrency,
      dailyBudgetMicro: settings.dailyBudgetMicro,
      monthlyBudgetMicro: settings.monthlyBudgetMicro,
    });
    return { key, apiKey: await requireKey(manager, id) };
  }

  private isRevoked(apiKey: ApiKeyEntity): boolean {
    return apiKey.revokedAt !== null && apiKey.revokedAt.getTime() <= this.clock.now();
  }
}

async function requireKey(manager: EntityManager, keyId: string): Promise<ApiKeyEntity> {
  const apiKey = await manager.findOneBy(ApiKeyEntity, { id: keyId });
  if (apiKey === null) throw keyNotFound();
  return apiKey;
}

function toMutable<Entry>(entries: readonly Entry[] | null): Entry[] | null {
  return entries === null ? null : [...entries];
}

function keyNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such API key.');
}

function conflict(message: string): GatewayError {
  return new GatewayError('conflict', message);
}
