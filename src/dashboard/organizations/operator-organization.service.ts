import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import { publishKeyInvalidation, type KeyInvalidationTransport } from '../../auth/api-keys/key-invalidation';
import type { Actor } from '../../core/types/actor';
import { decodeCursor } from '../../core/types/cursor';
import { type Micro, microToJson } from '../../core/types/micro';
import { type RateLimits, toRateLimitFields } from '../../core/types/rate-limits';
import { type Page, type PageRequest, toPage } from '../../core/types/page';
import { GatewayError } from '../../core/errors/gateway-error';
import {
  DEFAULT_MAX_API_KEYS,
  HIGHEST_MAX_API_KEYS,
  OrganizationEntity,
  type OrganizationStatus,
} from '../../core/database/entities/organization.entity';
import { parseAmount, parseRateLimits } from '../../auth/api-keys/api-key-settings';
import { changedFields } from '../../core/database/changed-fields';
import {
  countOf,
  findOrganization,
  findOrganizations,
  type OrganizationCounts,
  type OrganizationFilter,
  type OrganizationSummaryRow,
  updatePurchaseLimits,
} from './operator-organization.repository';
import { updateMonthlyLimit } from './organization-account.repository';
import { lockOrganization, organizationNotFound } from '../../auth/organization-access';
import { REDIS } from '../../core/redis/redis.module';

/** An organization as operators see it. */
export interface OrganizationSummary {
  readonly id: string;
  readonly name: string;
  readonly status: OrganizationStatus;
  readonly createdAt: Date;
  readonly limits: RateLimits;
  readonly balanceMicro: Micro;
  readonly reservedMicro: Micro;
  /** Set by the operator; `null`: no limit. */
  readonly monthlyLimitMicro: Micro | null;
  /** Set by the organization; the lower limit applies. */
  readonly ownMonthlyLimitMicro: Micro | null;
  /** `null`: the platform's limit. */
  readonly purchaseLimitDayMicro: Micro | null;
  readonly purchaseLimitMonthMicro: Micro | null;
  readonly maxApiKeys: number;
}

export interface OrganizationDetails extends OrganizationSummary, OrganizationCounts {}

/** `undefined`: unchanged; `null`: no limit, for purchases and keys the platform's limit. */
export interface OrganizationLimitChanges {
  readonly limits?: Partial<RateLimits>;
  readonly monthlyLimitMicro?: Micro | null;
  readonly purchaseLimitDayMicro?: Micro | null;
  readonly purchaseLimitMonthMicro?: Micro | null;
  readonly maxApiKeys?: number | null;
}

/** Administration of all organizations by operators. */
@Injectable()
export class OperatorOrganizationService {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(REDIS) private readonly transport: KeyInvalidationTransport,
  ) {}

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor. */
  async list(filter: OrganizationFilter, { limit, cursor }: PageRequest): Promise<Page<OrganizationSummary>> {
    const after = cursor === null ? null : decodeCursor(cursor, ['time', 'uuid']);
    const rows = await findOrganizations(this.dataSource.manager, filter, after, limit + 1);
    const page = toPage(rows, limit, ({ createdAtText, id }) => [createdAtText, id]);
    return { ...page, items: page.items.map(toSummary) };
  }

  /** @throws GatewayError `not_found`. */
  async require(organizationId: string): Promise<OrganizationDetails> {
    const { manager } = this.dataSource;
    const row = await findOrganization(manager, organizationId);
    if (row === null) throw organizationNotFound();
    return { ...toSummary(row), ...(await countOf(manager, organizationId)) };
  }

  /** Changes limits atomically. @throws GatewayError `not_found`, `validation_failed`. */
  async updateLimits(
    organizationId: string,
    changes: OrganizationLimitChanges,
    actor: Actor,
  ): Promise<OrganizationDetails> {
    const columns = { ...parseRateLimits(changes.limits ?? {}), ...parseKeyLimit(changes.maxApiKeys) };
    const dayMicro = parse(changes.purchaseLimitDayMicro, 'purchase_limit_day_micro');
    const monthMicro = parse(changes.purchaseLimitMonthMicro, 'purchase_limit_month_micro');
    const monthlyMicro = parse(changes.monthlyLimitMicro, 'monthly_limit_micro');
    await this.dataSource.transaction(async (manager) => {
      await lockOrganization(manager, organizationId);
      const before = await findOrganization(manager, organizationId);
      if (Object.keys(columns).length > 0) await manager.update(OrganizationEntity, { id: organizationId }, columns);
      if (monthlyMicro !== undefined) await updateMonthlyLimit(manager, organizationId, monthlyMicro);
      await updatePurchaseLimits(manager, organizationId, { dayMicro, monthMicro });
      const after = await findOrganization(manager, organizationId);
      await recordAudit(manager, {
        organizationId,
        actor,
        action: 'organization.limits_updated',
        target: { type: 'organization', id: organizationId },
        ...changedFields(limitFields(before), limitFields(after)),
      });
    });
    await publishKeyInvalidation(this.transport, { scope: 'organization', organizationId });
    return this.require(organizationId);
  }
}

function parse(amount: Micro | null | undefined, param: string): Micro | null | undefined {
  return amount === undefined ? undefined : parseAmount(amount, param);
}

/** Keys beyond a lowered limit stay valid; no more are created until enough are revoked. */
function parseKeyLimit(maxApiKeys: number | null | undefined): Partial<Pick<OrganizationEntity, 'maxApiKeys'>> {
  if (maxApiKeys === undefined) return {};
  const limit = maxApiKeys ?? DEFAULT_MAX_API_KEYS;
  if (!Number.isInteger(limit) || limit < 0 || limit > HIGHEST_MAX_API_KEYS) {
    const message = `max_api_keys must be an integer from 0 to ${HIGHEST_MAX_API_KEYS}.`;
    throw new GatewayError('validation_failed', message, { param: 'max_api_keys' });
  }
  return { maxApiKeys: limit };
}

function toSummary(row: OrganizationSummaryRow): OrganizationSummary {
  const { id, name, status, createdAt, requestsPerSecond, requestsPerMinute, tokensPerMinute, concurrency } = row;
  return {
    id,
    name,
    status,
    createdAt,
    limits: { requestsPerSecond, requestsPerMinute, tokensPerMinute, concurrency },
    balanceMicro: BigInt(row.balance),
    reservedMicro: BigInt(row.reserved),
    monthlyLimitMicro: toMicro(row.monthlyLimit),
    ownMonthlyLimitMicro: toMicro(row.ownMonthlyLimit),
    purchaseLimitDayMicro: toMicro(row.purchaseLimitDay),
    purchaseLimitMonthMicro: toMicro(row.purchaseLimitMonth),
    maxApiKeys: row.maxApiKeys,
  };
}

function limitFields(row: OrganizationSummaryRow | null) {
  return {
    ...toRateLimitFields(row),
    monthly_limit_micro: toJson(row?.monthlyLimit ?? null),
    purchase_limit_day_micro: toJson(row?.purchaseLimitDay ?? null),
    purchase_limit_month_micro: toJson(row?.purchaseLimitMonth ?? null),
    max_api_keys: row?.maxApiKeys ?? null,
  };
}

function toMicro(text: string | null): Micro | null {
  return text === null ? null : BigInt(text);
}

function toJson(text: string | null): number | null {
  return text === null ? null : microToJson(BigInt(text));
}
