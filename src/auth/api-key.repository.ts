import type { DataSource } from 'typeorm';
import { MODALITIES, type Modality } from '../common/modality';
import type { Role } from '../common/role';
import { AllowedIps } from './allowed-ips';
import type { StoredApiKey } from './stored-api-key';

interface ApiKeyRow {
  readonly id: string;
  readonly organization_id: string;
  readonly organization_active: boolean;
  readonly enabled: boolean;
  readonly revoked_at_ms: number | null;
  readonly expires_at_ms: number | null;
  readonly allowed_ips: string[] | null;
  readonly allowed_models: string[] | null;
  readonly allowed_modalities: string[] | null;
  readonly requests_per_second: number | null;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrency: number | null;
  readonly organization_requests_per_second: number | null;
  readonly organization_requests_per_minute: number | null;
  readonly organization_tokens_per_minute: number | null;
  readonly organization_concurrency: number | null;
}

// One probe of the unique digest index and one primary-key read. Written by hand: TypeORM's find with a relation
// turns this into two statements with a DISTINCT wrapper. Whether a revocation has begun is asked of the clock that
// wrote it: a process whose own clock is late must not accept the key a little longer.
const SELECT = `
  SELECT k.id, k.organization_id, o.status = 'active' AS organization_active, k.enabled,
         CASE WHEN k.revoked_at <= now() THEN 0 ELSE (extract(epoch FROM k.revoked_at) * 1000)::float8 END AS revoked_at_ms,
         (extract(epoch FROM k.expires_at) * 1000)::float8 AS expires_at_ms,
         k.allowed_ips, k.allowed_models, k.allowed_modalities,
         k.requests_per_second, k.requests_per_minute, k.tokens_per_minute, k.concurrency,
         o.requests_per_second AS organization_requests_per_second,
         o.requests_per_minute AS organization_requests_per_minute,
         o.tokens_per_minute AS organization_tokens_per_minute,
         o.concurrency AS organization_concurrency
    FROM api_key k
    JOIN organization o ON o.id = k.organization_id`;
const FIND_BY_DIGEST = `${SELECT} WHERE k.digest = $1`;
/** For its people: whoever may not use a key sees none. */
const FIND_FOR_MEMBER = `${SELECT}
    JOIN organization_member m ON m.organization_id = k.organization_id AND m.user_id = $2 AND m.role = ANY ($3)
   WHERE k.id = $1`;

/** Keys as authentication knows them. */
export class ApiKeyRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** The key with this digest, whatever its state; `null` when there is none. */
  async findByDigest(digest: Buffer): Promise<StoredApiKey | null> {
    const rows = await this.dataSource.query<ApiKeyRow[]>(FIND_BY_DIGEST, [digest]);
    const row = rows[0];
    return row === undefined ? null : toStoredApiKey(row);
  }

  /** A key of an organization in which the user has one of `roles`, whatever the key's state; else `null`. */
  async findForMember(keyId: string, userId: string, roles: readonly Role[]): Promise<StoredApiKey | null> {
    const [row] = await this.dataSource.query<ApiKeyRow[]>(FIND_FOR_MEMBER, [keyId, userId, roles]);
    return row === undefined ? null : toStoredApiKey(row);
  }
}

function toStoredApiKey(row: ApiKeyRow): StoredApiKey {
  return {
    principal: {
      organizationId: row.organization_id,
      keyId: row.id,
      allowedModels: row.allowed_models === null ? null : new Set(row.allowed_models),
      allowedModalities: row.allowed_modalities === null ? null : new Set(row.allowed_modalities.filter(isModality)),
      limits: {
        requestsPerSecond: row.requests_per_second,
        requestsPerMinute: row.requests_per_minute,
        tokensPerMinute: row.tokens_per_minute,
        concurrency: row.concurrency,
      },
      organizationLimits: {
        requestsPerSecond: row.organization_requests_per_second,
        requestsPerMinute: row.organization_requests_per_minute,
        tokensPerMinute: row.organization_tokens_per_minute,
        concurrency: row.organization_concurrency,
      },
    },
    enabled: row.enabled,
    revokedAtMs: row.revoked_at_ms,
    expiresAtMs: row.expires_at_ms,
    organizationActive: row.organization_active,
    allowedIps: row.allowed_ips === null ? null : AllowedIps.parse(row.allowed_ips),
  };
}

function isModality(text: string): text is Modality {
  return (MODALITIES as readonly string[]).includes(text);
}
