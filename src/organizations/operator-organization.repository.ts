import type { EntityManager } from 'typeorm';
import type { Micro } from '../common/micro';
import type { RateLimits } from '../common/rate-limits';
import { textOfTime, type Aged } from '../common/page';
import type { OrganizationStatus } from '../database/entities/organization.entity';

export interface OrganizationFilter {
  readonly status: OrganizationStatus | null;
  /** Part of the name, whatever its case. */
  readonly search: string | null;
}

/** An organization as a list of the operator shows it. Amounts are decimal text, as PostgreSQL gives them. */
export interface OrganizationSummaryRow extends Aged, RateLimits {
  readonly name: string;
  readonly status: OrganizationStatus;
  readonly createdAt: Date;
  readonly balance: string;
  readonly reserved: string;
  readonly monthlyLimit: string | null;
  readonly purchaseLimitDay: string | null;
  readonly purchaseLimitMonth: string | null;
}

export interface OrganizationCounts {
  readonly members: number;
  /** Those not revoked. */
  readonly keys: number;
}

const SUMMARY = `
  SELECT o.id, o.name, o.status, o.created_at AS "createdAt", ${textOfTime('o.created_at')} AS "createdAtText",
         o.requests_per_second AS "requestsPerSecond", o.requests_per_minute AS "requestsPerMinute",
         o.tokens_per_minute AS "tokensPerMinute", o.concurrency,
         COALESCE(a.balance_micro, 0)::text AS balance, COALESCE(a.reserved_micro, 0)::text AS reserved,
         a.monthly_limit_micro::text AS "monthlyLimit", b.purchase_limit_day_micro::text AS "purchaseLimitDay",
         b.purchase_limit_month_micro::text AS "purchaseLimitMonth"
    FROM organization o
    LEFT JOIN organization_account a ON a.organization_id = o.id
    LEFT JOIN billing_settings b ON b.organization_id = o.id`;

/** Sorts all organizations that fit: operators look seldom, and there are thousands of them rather than millions. */
const FIND = `${SUMMARY}
   WHERE ($1::text IS NULL OR o.status = $1)
     AND ($2::text IS NULL OR position(lower($2) IN lower(o.name)) > 0)
     AND ($3::timestamptz IS NULL OR (o.created_at, o.id) < ($3::timestamptz, $4::uuid))
   ORDER BY o.created_at DESC, o.id DESC LIMIT $5`;

/** Newest first. @param after sort key of the last one before, `null` from the start. */
export function findOrganizations(
  manager: EntityManager,
  { status, search }: OrganizationFilter,
  after: readonly string[] | null,
  limit: number,
): Promise<OrganizationSummaryRow[]> {
  return manager.query<OrganizationSummaryRow[]>(FIND, [status, search, after?.[0] ?? null, after?.[1] ?? null, limit]);
}

export async function findOrganization(
  manager: EntityManager,
  organizationId: string,
): Promise<OrganizationSummaryRow | null> {
  const [row] = await manager.query<OrganizationSummaryRow[]>(`${SUMMARY} WHERE o.id = $1`, [organizationId]);
  return row ?? null;
}

export async function countOf(manager: EntityManager, organizationId: string): Promise<OrganizationCounts> {
  const [row] = await manager.query<{ members: string; keys: string }[]>(
    `SELECT (SELECT count(*) FROM organization_member WHERE organization_id = $1)::text AS members,
            (SELECT count(*) FROM api_key
              WHERE organization_id = $1 AND (revoked_at IS NULL OR revoked_at > now()))::text AS keys`,
    [organizationId],
  );
  return { members: Number(row?.members ?? 0), keys: Number(row?.keys ?? 0) };
}

/** Limits of purchases; `undefined`: as it was, `null`: that of the platform. */
export async function updatePurchaseLimits(
  manager: EntityManager,
  organizationId: string,
  { dayMicro, monthMicro }: { readonly dayMicro?: Micro | null; readonly monthMicro?: Micro | null },
): Promise<void> {
  if (dayMicro === undefined && monthMicro === undefined) return;
  await manager.query(
    `INSERT INTO billing_settings AS b (organization_id, purchase_limit_day_micro, purchase_limit_month_micro)
     VALUES ($1, $2, $3)
     ON CONFLICT (organization_id) DO UPDATE
       SET purchase_limit_day_micro = CASE WHEN $4 THEN $2 ELSE b.purchase_limit_day_micro END,
           purchase_limit_month_micro = CASE WHEN $5 THEN $3 ELSE b.purchase_limit_month_micro END`,
    [
      organizationId,
      dayMicro?.toString() ?? null,
      monthMicro?.toString() ?? null,
      dayMicro !== undefined,
      monthMicro !== undefined,
    ],
  );
}
