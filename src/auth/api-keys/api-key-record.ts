import { microToJson, type Micro } from '../../core/types/micro';
import type { ApiKeyEntity } from '../../core/database/entities/api-key.entity';
import type { ApiKeySettings } from './api-key-settings';

export const API_KEY_KINDS = ['standard', 'playground'] as const;
export type ApiKeyKind = (typeof API_KEY_KINDS)[number];

export const API_KEY_STATUSES = ['active', 'disabled', 'expired', 'revoked'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

export type ApiKeyRecord = ReturnType<typeof toApiKeyRecord>;

/** A key as commands and the dashboard show it: without its secret and digest. */
export function toApiKeyRecord(apiKey: ApiKeyEntity, nowMs: number) {
  return {
    id: apiKey.id,
    organization_id: apiKey.organizationId,
    kind: apiKey.playgroundUserId === null ? ('standard' as const) : ('playground' as const),
    prefix: apiKey.prefix,
    last4: apiKey.last4,
    status: statusOf(apiKey, nowMs),
    created_at: apiKey.createdAt.toISOString(),
    revoked_at: apiKey.revokedAt?.toISOString() ?? null,
    replaced_by: apiKey.replacedBy,
    ...toSettingsRecord(apiKey),
  };
}

/** The settings of a key under their JSON names. */
export function toSettingsRecord(settings: ApiKeySettings) {
  return {
    name: settings.name,
    expires_at: settings.expiresAt?.toISOString() ?? null,
    allowed_ips: toMutable(settings.allowedIps),
    allowed_models: toMutable(settings.allowedModels),
    allowed_modalities: toMutable(settings.allowedModalities),
    requests_per_second: settings.requestsPerSecond,
    requests_per_minute: settings.requestsPerMinute,
    tokens_per_minute: settings.tokensPerMinute,
    concurrency: settings.concurrency,
    daily_budget_micro: toJson(settings.dailyBudgetMicro),
    monthly_budget_micro: toJson(settings.monthlyBudgetMicro),
  };
}

export function toMutable<Entry>(entries: readonly Entry[] | null): Entry[] | null {
  return entries === null ? null : [...entries];
}

/** Whether the revocation is in force; false during the grace period of a rotated key. */
export function isRevoked({ revokedAt }: Pick<ApiKeyEntity, 'revokedAt'>, nowMs: number): boolean {
  return revokedAt !== null && revokedAt.getTime() <= nowMs;
}

/** The first reason to refuse the key, in the order of the authentication checks. */
function statusOf(apiKey: ApiKeyEntity, nowMs: number): ApiKeyStatus {
  if (isRevoked(apiKey, nowMs)) return 'revoked';
  if (!apiKey.enabled) return 'disabled';
  if (apiKey.expiresAt !== null && apiKey.expiresAt.getTime() <= nowMs) return 'expired';
  return 'active';
}

function toJson(amount: Micro | null): number | null {
  return amount === null ? null : microToJson(amount);
}
