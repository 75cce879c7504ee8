import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isModalityGroup, modalitiesOf } from '../../core/types/modality';
import { mayActAs, ROLES, type Role } from '../../core/types/role';
import { AllowedIps } from '../../core/types/allowed-ips';
import type { Principal } from '../../core/types/request-context';
import { digestApiKey } from './api-key';
import { API_KEY_PEPPER } from './api-key-pepper';

/** The stored fields of a key that requests need. Immutable and shared between requests. */
export interface StoredApiKey {
  /** The principal of the requests that use this key. */
  readonly principal: Principal;
  readonly enabled: boolean;
  /** Milliseconds since the epoch; may lie in the future (rotation with a grace period). */
  readonly revokedAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly organizationActive: boolean;
  /** The key ends with a session or membership. Their changes invalidate no cache, so every request reads it again. */
  readonly dependsOnSession: boolean;
  /** `null` allows every address. */
  readonly allowedIps: AllowedIps | null;
}

interface ApiKeyRow {
  readonly id: string;
  readonly organization_id: string;
  readonly organization_active: boolean;
  readonly depends_on_session: boolean;
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

// A probe of each digest index and one primary-key read. Hand-written SQL: TypeORM's find with a relation
// generates two statements with a DISTINCT wrapper. The database clock, which wrote the revocation time, decides
// whether it has passed: a process with a slow clock must not accept the key longer.
const columns = (expiresAt: string): string => `
  SELECT k.id, k.organization_id, o.status = 'active' AS organization_active, k.enabled,
         CASE WHEN k.revoked_at <= now() THEN 0 ELSE (extract(epoch FROM k.revoked_at) * 1000)::float8 END AS revoked_at_ms,
         (extract(epoch FROM ${expiresAt}) * 1000)::float8 AS expires_at_ms,
         k.playground_user_id IS NOT NULL AS depends_on_session,
         k.allowed_ips, k.allowed_models, k.allowed_modalities,
         k.requests_per_second, k.requests_per_minute, k.tokens_per_minute, k.concurrency,
         o.requests_per_second AS organization_requests_per_second,
         o.requests_per_minute AS organization_requests_per_minute,
         o.tokens_per_minute AS organization_tokens_per_minute,
         o.concurrency AS organization_concurrency
    FROM api_key k
    JOIN organization o ON o.id = k.organization_id`;
/** A playground key works while its session exists and its user is an active developer of the organization. */
const FIND_BY_DIGEST = `${columns('k.expires_at')} WHERE k.digest = $1
   UNION ALL ${columns('s.expires_at')}
    JOIN playground_secret s ON s.api_key_id = k.id
    JOIN organization_member m ON m.organization_id = k.organization_id AND m.user_id = k.playground_user_id
         AND m.role = ANY ($2)
   WHERE s.digest = $1`;
/** Joins the membership: a user whose role has no access to keys finds none. */
const FIND_FOR_MEMBER = `${columns('k.expires_at')}
    JOIN organization_member m ON m.organization_id = k.organization_id AND m.user_id = $2 AND m.role = ANY ($3)
   WHERE k.id = $1`;

const DEVELOPERS = ROLES.filter((role) => mayActAs(role, 'developer'));

/** Reads keys for authentication. */
@Injectable()
export class ApiKeyRepository {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(API_KEY_PEPPER) private readonly pepper: string,
  ) {}

  /** A key in any state, by its text; `null` when there is none. */
  async findByKey(key: string): Promise<StoredApiKey | null> {
    const digest = digestApiKey(key, this.pepper);
    const [row] = await this.dataSource.query<ApiKeyRow[]>(FIND_BY_DIGEST, [digest, DEVELOPERS]);
    return row === undefined ? null : toStoredApiKey(row);
  }

  /** The key, in any state, if the user has one of `roles` in its organization; else `null`. */
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
      allowedModalities:
        row.allowed_modalities === null
          ? null
          : new Set(row.allowed_modalities.filter(isModalityGroup).flatMap(modalitiesOf)),
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
    dependsOnSession: row.depends_on_session,
    allowedIps: row.allowed_ips === null ? null : AllowedIps.parse(row.allowed_ips),
  };
}
