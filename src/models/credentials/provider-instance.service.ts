import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { INSTANCE_ID, MAX_API_KEYS, type ProviderInstance, VISIBLE_ASCII } from '../../core/config/provider-instances';
import { baseUrl, kindOf } from '../../core/config/setting-kinds';
import { recordAudit } from '../../core/database/audit-log';
import type { ProviderInstanceEntity } from '../../core/database/entities/provider-instance.entity';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Actor } from '../../core/types/actor';
import { keyIdOf } from '../../providers/kit/key-id';
import { ProvidersService } from '../../providers/providers.service';
import { lastCharactersOf } from './credential.service';
import { CredentialAnnouncer } from './stored-credentials';
import { ProviderInstanceRepository } from './provider-instance.repository';

/** A key as an operator submits it: a new one, or the id of a stored one that is kept. */
export interface SubmittedKey {
  readonly id?: string;
  readonly key?: string;
  readonly weight: number;
}

export interface InstanceSettings {
  readonly module: string;
  readonly baseUrl: string | null;
  readonly apiKeys: readonly SubmittedKey[];
  /**
   * `updated_at` of the stored instance that these settings may replace; `null`: there must be none, `undefined`: any.
   */
  readonly expectedUpdatedAt?: string | null;
}

/** An instance without its keys. */
export interface InstanceRecord {
  readonly id: string;
  readonly source: 'file' | 'stored';
  /** `null`: this process cannot decrypt the stored instance, and does not use it. */
  readonly settings: {
    readonly module: string;
    readonly baseUrl: string | null;
    readonly apiKeys: readonly { readonly id: string; readonly last4: string | null; readonly weight: number }[];
  } | null;
  /** `null`: from the file. */
  readonly updatedAt: Date | null;
}

/** Named provider instances that operators store: sealed, and without a way to read a key back. */
@Injectable()
export class ProviderInstanceService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly repository: ProviderInstanceRepository,
    private readonly providers: ProvidersService,
    private readonly announcer: CredentialAnnouncer,
  ) {}

  /** All instances, those of the file first. */
  async list(): Promise<InstanceRecord[]> {
    const fromFile = this.providers.fileInstances.map((instance) => toRecord('file', instance, null));
    return [...fromFile, ...(await this.repository.list()).map((row) => this.describe(row))];
  }

  /**
   * Stores an instance, which every process then offers to deployments.
   * @throws GatewayError `validation_failed`, naming the field; `conflict` if the stored instance is not the expected
   *   one
   */
  async set(id: string, settings: InstanceSettings, actor: Actor): Promise<InstanceRecord> {
    if (!INSTANCE_ID.test(id)) throw invalid('id', 'id must be 1 to 63 lower-case letters, digits and dashes.');
    const stored = await this.dataSource.transaction(async (manager) => {
      const before = await this.repository.lock(manager, id);
      requireExpected(before, settings.expectedUpdatedAt);
      const known = before === null ? null : this.repository.unseal(before);
      const instance = toInstance(id, settings, known);
      await this.providers.rehearseInstance(instance);
      const row = await this.repository.put(manager, instance);
      await this.audit(manager, 'provider_instance.set', id, actor, summaryOf(known), summaryOf(instance));
      return row;
    });
    await this.announcer.announce();
    return this.describe(stored);
  }

  /**
   * Deletes a stored instance. Its deployments are no longer served; calls in flight finish.
   * @throws GatewayError `not_found`
   */
  async remove(id: string, actor: Actor): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const before = await this.repository.lock(manager, id);
      if (before === null) throw new GatewayError('not_found', 'No provider instance with this id is stored.');
      await this.repository.remove(manager, id);
      await this.audit(
        manager,
        'provider_instance.deleted',
        id,
        actor,
        summaryOf(this.repository.unseal(before)),
        null,
      );
    });
    await this.announcer.announce();
  }

  private async audit(
    manager: EntityManager,
    action: string,
    id: string,
    actor: Actor,
    before: object | null,
    after: object | null,
  ): Promise<void> {
    const target = { type: 'provider_instance', id };
    await recordAudit(manager, {
      organizationId: null,
      actor,
      action,
      target,
      before: { ...before },
      after: { ...after },
    });
  }

  private describe(row: ProviderInstanceEntity): InstanceRecord {
    const instance = this.repository.unseal(row);
    const { id, updatedAt } = row;
    return instance === null
      ? { id, source: 'stored', settings: null, updatedAt }
      : toRecord('stored', instance, updatedAt);
  }
}

function requireExpected(before: ProviderInstanceEntity | null, expected: string | null | undefined): void {
  if (expected === undefined || expected === (before?.updatedAt.toISOString() ?? null)) return;
  throw new GatewayError(
    'conflict',
    expected === null
      ? 'A provider instance with this name already exists. Change that instance instead.'
      : 'The provider instance was changed or deleted meanwhile. Open it again and repeat your change.',
  );
}

function toInstance(id: string, settings: InstanceSettings, known: ProviderInstance | null): ProviderInstance {
  const url = settings.baseUrl === null ? null : baseUrl.safeParse(settings.baseUrl);
  if (url?.success === false) throw invalid('base_url', `base_url must be ${kindOf(baseUrl).accepts}`);
  if (settings.apiKeys.length > MAX_API_KEYS) throw invalid('api_keys', `api_keys may have ${MAX_API_KEYS} items.`);
  const apiKeys = settings.apiKeys.map(({ id: keyId, key, weight }, at) => {
    const value = key ?? known?.apiKeys.find((each) => keyIdOf(each.key) === keyId)?.key;
    const param = `api_keys[${at}]`;
    if ((key === undefined) === (keyId === undefined)) throw invalid(param, `${param} must have either key or id.`);
    if (value === undefined) throw invalid(`${param}.id`, `${param}.id is not the id of a stored key.`);
    if (!VISIBLE_ASCII.test(value)) throw invalid(`${param}.key`, `${param}.key must be visible ASCII without spaces.`);
    return { key: value, weight };
  });
  if (new Set(apiKeys.map(({ key }) => key)).size < apiKeys.length) {
    throw invalid('api_keys', 'api_keys contains a key twice; give it a higher weight instead.');
  }
  return { id, module: settings.module, baseUrl: url?.data ?? null, apiKeys };
}

function toRecord(source: 'file' | 'stored', instance: ProviderInstance, updatedAt: Date | null): InstanceRecord {
  const { id, module, baseUrl: url, apiKeys } = instance;
  const keys = apiKeys.map(({ key, weight }) => ({
    id: keyIdOf(key),
    last4: lastCharactersOf(key),
    weight,
  }));
  return { id, source, settings: { module, baseUrl: url, apiKeys: keys }, updatedAt };
}

/** For the audit log. */
function summaryOf(instance: ProviderInstance | null): object | null {
  return instance === null
    ? null
    : { module: instance.module, base_url: instance.baseUrl, api_keys: instance.apiKeys.length };
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('validation_failed', message, { param });
}
