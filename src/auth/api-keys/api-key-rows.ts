import type { EntityManager } from 'typeorm';
import { GatewayError } from '../../core/errors/gateway-error';
import { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import { toMutable } from './api-key-record';
import type { ApiKeySettings } from './api-key-settings';

/** The immutable identity of a key. */
export type ApiKeyIdentity = Pick<
  ApiKeyEntity,
  'id' | 'organizationId' | 'digest' | 'prefix' | 'last4' | 'createdBy' | 'playgroundUserId'
>;

/**
 * Locks the row of a key and returns the key. @param organizationId `null`: any organization.
 * @throws GatewayError `not_found`.
 */
export async function lockApiKey(
  manager: EntityManager,
  keyId: string,
  organizationId: string | null,
): Promise<ApiKeyEntity> {
  const apiKey = await manager.findOne(ApiKeyEntity, {
    where: organizationId === null ? { id: keyId } : { id: keyId, organizationId },
    lock: { mode: 'for_no_key_update' },
  });
  if (apiKey === null) throw keyNotFound();
  return apiKey;
}

/** The current key, read in the transaction that changes it. */
export async function requireApiKey(manager: EntityManager, keyId: string): Promise<ApiKeyEntity> {
  const apiKey = await manager.findOneBy(ApiKeyEntity, { id: keyId });
  if (apiKey === null) throw keyNotFound();
  return apiKey;
}

export async function insertApiKey(
  manager: EntityManager,
  identity: ApiKeyIdentity,
  settings: ApiKeySettings,
  enabled: boolean,
): Promise<ApiKeyEntity> {
  await manager.insert(ApiKeyEntity, { ...identity, enabled, ...toColumns(settings) });
  return requireApiKey(manager, identity.id);
}

export async function updateApiKey(
  manager: EntityManager,
  keyId: string,
  changes: Partial<ApiKeySettings>,
): Promise<ApiKeyEntity> {
  const columns = toColumns(changes);
  if (Object.keys(columns).length > 0) await manager.update(ApiKeyEntity, { id: keyId }, columns);
  return requireApiKey(manager, keyId);
}

/**
 * Revokes a key immediately, or after `graceSeconds` when another key replaces it. An immediate revocation takes the
 * earlier time of the database and of the process (`now`), so that neither still accepts the key.
 */
export async function endApiKey(
  manager: EntityManager,
  keyId: string,
  now: Date,
  { replacedBy, graceSeconds }: { readonly replacedBy?: string; readonly graceSeconds: number },
): Promise<ApiKeyEntity> {
  const revokedAt =
    graceSeconds === 0 ? 'LEAST(now(), CAST(:now AS timestamptz))' : 'now() + make_interval(secs => :graceSeconds)';
  await manager
    .createQueryBuilder()
    .update(ApiKeyEntity)
    .set({ ...(replacedBy !== undefined && { replacedBy }), revokedAt: () => revokedAt })
    .where({ id: keyId })
    .setParameters({ now, graceSeconds })
    .execute();
  return requireApiKey(manager, keyId);
}

export function keyNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such API key.');
}

/** Copies only the settings present in the input, no other fields such as the id of a rotated key. */
function toColumns(settings: Partial<ApiKeySettings>): Partial<ApiKeyEntity> {
  const { allowedIps, allowedModels, allowedModalities } = settings;
  const columns = {
    name: settings.name,
    expiresAt: settings.expiresAt,
    allowedIps: allowedIps && toMutable(allowedIps),
    allowedModels: allowedModels && toMutable(allowedModels),
    allowedModalities: allowedModalities && toMutable(allowedModalities),
    requestsPerSecond: settings.requestsPerSecond,
    requestsPerMinute: settings.requestsPerMinute,
    tokensPerMinute: settings.tokensPerMinute,
    concurrency: settings.concurrency,
    dailyBudgetMicro: settings.dailyBudgetMicro,
    monthlyBudgetMicro: settings.monthlyBudgetMicro,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}
