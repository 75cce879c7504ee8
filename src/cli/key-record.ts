import { microToJson, type Micro } from '../common/micro';
import type { ApiKeyEntity } from '../database/entities/api-key.entity';

export type KeyStatus = 'active' | 'disabled' | 'expired' | 'revoked';

/** A key as `--json` prints it: everything but its secret and the digest of it. */
export function toKeyRecord(apiKey: ApiKeyEntity, nowMs: number) {
  return {
    id: apiKey.id,
    organization_id: apiKey.organizationId,
    name: apiKey.name,
    prefix: apiKey.prefix,
    last4: apiKey.last4,
    status: statusOf(apiKey, nowMs),
    created_at: apiKey.createdAt.toISOString(),
    expires_at: apiKey.expiresAt?.toISOString() ?? null,
    revoked_at: apiKey.revokedAt?.toISOString() ?? null,
    replaced_by: apiKey.replacedBy,
    allowed_ips: apiKey.allowedIps,
    allowed_models: apiKey.allowedModels,
    allowed_modalities: apiKey.allowedModalities,
    requests_per_second: apiKey.requestsPerSecond,
    requests_per_minute: apiKey.requestsPerMinute,
    tokens_per_minute: apiKey.tokensPerMinute,
    concurrency: apiKey.concurrency,
    daily_budget_micro: toJson(apiKey.dailyBudgetMicro),
    monthly_budget_micro: toJson(apiKey.monthlyBudgetMicro),
  };
}

/** The first reason for a refusal, in the order in which authentication looks for one. */
function statusOf(apiKey: ApiKeyEntity, nowMs: number): KeyStatus {
  if (apiKey.revokedAt !== null && apiKey.revokedAt.getTime() <= nowMs) return 'revoked';
  if (!apiKey.enabled) return 'disabled';
  if (apiKey.expiresAt !== null && apiKey.expiresAt.getTime() <= nowMs) return 'expired';
  return 'active';
}

function toJson(amount: Micro | null): number | null {
  return amount === null ? null : microToJson(amount);
}
