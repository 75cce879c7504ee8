import { Inject, Injectable } from '@nestjs/common';
import { IsNull, MoreThan, DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { digestApiKey, generateApiKey, toDisplayParts } from './api-key';
import { publishKeyInvalidation, type KeyInvalidationTransport } from './key-invalidation';
import { AccountQueue } from '../../core/concurrency/account-queue';
import type { Actor } from '../../core/types/actor';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { PlaygroundSecretEntity } from '../../core/database/entities/playground-secret.entity';
import { OrganizationEntity } from '../../core/database/entities/organization.entity';
import { isRevoked, toSettingsRecord } from './api-key-record';
import { endApiKey, insertApiKey, lockApiKey, requireApiKey, updateApiKey } from './api-key-rows';
import {
  parseApiKeyChanges,
  parseApiKeySettings,
  type ApiKeySettings,
  type ApiKeySettingsInput,
} from './api-key-settings';
import { changedFields } from '../../core/database/changed-fields';
import { lockOrganization, organizationNotFound, requireActive, requireRole } from '../organization-access';
import { REDIS } from '../../core/redis/redis.module';
import { API_KEY_PEPPER } from './api-key-pepper';

const MAX_GRACE_SECONDS = 30 * 24 * 3600;

/** The only time that `key` is available in plain text: show it once and never store it. */
export interface IssuedApiKey {
  readonly key: string;
  readonly apiKey: ApiKeyEntity;
}

export interface RotatedApiKey extends IssuedApiKey {
  readonly replaced: ApiKeyEntity;
}

/**
 * Issues and administers keys. A method that takes a key's id and an `organizationId` throws `not_found` for a key of
 * another organization and `forbidden` for a member who is no longer a developer; operator commands pass `null` and may
 * name any key. Each change is written to the audit log, takes effect in every process within a second, and returns the
 * updated key.
 */
@Injectable()
export class ApiKeyService {
  /** A flood of new keys for one organization waits here instead of holding database connections. */
  private readonly keyChanges: AccountQueue;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(REDIS) private readonly transport: KeyInvalidationTransport,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(API_KEY_PEPPER) private readonly pepper: string,
  ) {
    this.keyChanges = new AccountQueue(clock);
  }

  /**
   * @throws GatewayError `not_found`, `validation_failed`, `max_api_keys_reached`, `conflict` while the organization is
   *   suspended.
   */
  create(organizationId: string, input: ApiKeySettingsInput, actor: Actor): Promise<IssuedApiKey> {
    const settings = parseApiKeySettings(input, this.clock.now());
    const work = async (manager: EntityManager): Promise<IssuedApiKey> => {
      // Concurrent calls must not both create the last key that `maxApiKeys` allows.
      const organization = await lockOrganization(manager, organizationId);
      await requireRole(manager, organizationId, 'developer', actor);
      requireActive(organization);
      const keys = await manager.countBy(ApiKeyEntity, {
        organizationId,
        revokedAt: IsNull(),
        playgroundUserId: IsNull(),
      });
      if (keys >= organization.maxApiKeys) throw tooMany('API keys', organization);
      const issued = await this.issue(manager, organizationId, settings, true, actor);
      await record(manager, issued.apiKey, 'key.created', actor, { after: toSettingsRecord(issued.apiKey) });
      return issued;
    };
    return this.keyChanges.runExclusive(organizationId, () => this.dataSource.transaction(work));
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
  disable(keyId: string, organizationId: string | null, actor: Actor): Promise<ApiKeyEntity> {
    return this.setEnabled(keyId, organizationId, false, actor);
  }

  /** @throws GatewayError `not_found`, `conflict` when the key is revoked or the organization suspended. */
  enable(keyId: string, organizationId: string | null, actor: Actor): Promise<ApiKeyEntity> {
    return this.setEnabled(keyId, organizationId, true, actor);
  }

  /**
   * @param input `null` removes a rule. Omitted settings and the key's usage stay unchanged.
   * @throws GatewayError `not_found`, `validation_failed`, `conflict` when the key is revoked or the organization
   * suspended.
   */
  async update(
    keyId: string,
    organizationId: string | null,
    input: ApiKeySettingsInput,
    actor: Actor,
  ): Promise<ApiKeyEntity> {
    const changes = parseApiKeyChanges(input, this.clock.now());
    return this.change(keyId, organizationId, actor, async (manager, before) => {
      this.requireNotRevoked(before);
      await this.requireActiveOwner(manager, before);
      const after = await updateApiKey(manager, keyId, changes);
      const changed = changedFields(toSettingsRecord(before), toSettingsRecord(after));
      await record(manager, after, 'key.updated', actor, changed);
      return after;
    });
  }

  /**
   * Revokes the key permanently and immediately, even during a grace period. For a playground key, deletes its current
   * secrets instead. @throws GatewayError `not_found`.
   */
  revoke(keyId: string, organizationId: string | null, actor: Actor): Promise<ApiKeyEntity> {
    return this.changeAny(keyId, organizationId, actor, async (manager, before) => {
      if (before.playgroundUserId !== null) {
        await manager.delete(PlaygroundSecretEntity, { apiKeyId: keyId });
        await record(manager, before, 'key.revoked', actor, { after: {} });
        return before;
      }
      const now = this.clock.now();
      const after = isRevoked(before, now)
        ? before
        : await endApiKey(manager, keyId, new Date(now), { graceSeconds: 0 });
      await record(manager, after, 'key.revoked', actor, changedFields(revocationOf(before), revocationOf(after)));
      return after;
    });
  }

  /**
   * A new key with the same settings. The old key is revoked immediately or stays valid for `graceSeconds`.
   * @throws GatewayError `not_found`, `validation_failed`, `conflict` when the key is revoked, replaced or expired or
   *   the organization suspended, `max_api_keys_reached` when too many keys are in a grace period.
   */
  async rotate(
    keyId: string,
    organizationId: string | null,
    graceSeconds: number,
    actor: Actor,
  ): Promise<RotatedApiKey> {
    if (!Number.isInteger(graceSeconds) || graceSeconds < 0 || graceSeconds > MAX_GRACE_SECONDS) {
      throw new GatewayError('validation_failed', `grace_seconds must be an integer from 0 to ${MAX_GRACE_SECONDS}.`, {
        param: 'grace_seconds',
      });
    }
    return this.change(keyId, organizationId, actor, async (manager, before) => {
      await this.requireActiveOwner(manager, before);
      if (before.revokedAt !== null) throw conflict('The API key is revoked or already replaced.');
      if (before.expiresAt !== null && before.expiresAt.getTime() <= this.clock.now()) {
        throw conflict('The API key has expired. Create a new one.');
      }
      if (graceSeconds > 0) await this.requireRoomForGrace(manager, before.organizationId);
      const issued = await this.issue(manager, before.organizationId, before, before.enabled, actor);
      const ending = { replacedBy: issued.apiKey.id, graceSeconds };
      const replaced = await endApiKey(manager, keyId, new Date(this.clock.now()), ending);
      await record(
        manager,
        replaced,
        'key.rotated',
        actor,
        changedFields(revocationOf(before), revocationOf(replaced)),
      );
      return { ...issued, replaced };
    });
  }

  private setEnabled(
    keyId: string,
    organizationId: string | null,
    enabled: boolean,
    actor: Actor,
  ): Promise<ApiKeyEntity> {
    return this.change(keyId, organizationId, actor, async (manager, before) => {
      this.requireNotRevoked(before);
      if (enabled) await this.requireActiveOwner(manager, before);
      await manager.update(ApiKeyEntity, { id: keyId }, { enabled });
      await record(manager, before, enabled ? 'key.enabled' : 'key.disabled', actor, {
        before: { enabled: before.enabled },
        after: { enabled },
      });
      return requireApiKey(manager, keyId);
    });
  }

  /** {@link changeAny}, except for playground keys. @throws GatewayError `conflict` for a playground key. */
  private change<Result>(
    keyId: string,
    organizationId: string | null,
    actor: Actor,
    work: (manager: EntityManager, before: ApiKeyEntity) => Promise<Result>,
  ): Promise<Result> {
    return this.changeAny(keyId, organizationId, actor, (manager, before) => {
      if (before.playgroundUserId !== null) throw conflict('A playground key can only be revoked.');
      return work(manager, before);
    });
  }

  /** Runs a change with the key's row locked and publishes an invalidation after the commit. */
  private async changeAny<Result>(
    keyId: string,
    organizationId: string | null,
    actor: Actor,
    work: (manager: EntityManager, before: ApiKeyEntity) => Promise<Result>,
  ): Promise<Result> {
    const result = await this.dataSource.transaction(async (manager) => {
      const before = await lockApiKey(manager, keyId, organizationId);
      await requireRole(manager, before.organizationId, 'developer', actor);
      return work(manager, before);
    });
    await publishKeyInvalidation(this.transport, { scope: 'key', keyId });
    return result;
  }

  private async issue(
    manager: EntityManager,
    organizationId: string,
    settings: ApiKeySettings,
    enabled: boolean,
    actor: Actor,
  ): Promise<IssuedApiKey> {
    const key = generateApiKey();
    const identity = {
      id: uuidV7(this.clock.now()),
      organizationId,
      digest: digestApiKey(key, this.pepper),
      ...toDisplayParts(key),
      createdBy: actor.userId,
      playgroundUserId: null,
    };
    return { key, apiKey: await insertApiKey(manager, identity, settings, enabled) };
  }

  /** Repeated rotations must not leave an unlimited number of valid keys. */
  private async requireRoomForGrace(manager: EntityManager, organizationId: string): Promise<void> {
    const organization = await lockOrganization(manager, organizationId);
    const now = new Date(this.clock.now());
    const keys = await manager.countBy(ApiKeyEntity, { organizationId, revokedAt: MoreThan(now) });
    if (keys >= organization.maxApiKeys) throw tooMany('rotated API keys in their grace period', organization);
  }

  private async requireActiveOwner(manager: EntityManager, { organizationId }: ApiKeyEntity): Promise<void> {
    requireActive(await manager.findOneBy(OrganizationEntity, { id: organizationId }));
  }

  private requireNotRevoked(apiKey: ApiKeyEntity): void {
    if (isRevoked(apiKey, this.clock.now())) throw conflict('The API key is revoked, which cannot be undone.');
  }
}

function record(
  manager: EntityManager,
  { id, organizationId }: ApiKeyEntity,
  action: string,
  actor: Actor,
  change: { readonly before?: object; readonly after: object },
): Promise<void> {
  return recordAudit(manager, { organizationId, actor, action, target: { type: 'api_key', id }, ...change });
}

function revocationOf({ revokedAt, replacedBy }: ApiKeyEntity): {
  revoked_at: string | null;
  replaced_by: string | null;
} {
  return { revoked_at: revokedAt?.toISOString() ?? null, replaced_by: replacedBy };
}

function tooMany(what: string, { maxApiKeys }: OrganizationEntity): GatewayError {
  const message = `The organization may have at most ${maxApiKeys} ${what} (max_api_keys). Revoke one first.`;
  return new GatewayError('max_api_keys_reached', message);
}

function conflict(message: string): GatewayError {
  return new GatewayError('conflict', message);
}
