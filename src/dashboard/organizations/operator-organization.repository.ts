import type { EntityManager } from 'typeorm';
import type { Micro } from '../../core/types/micro';
import type { RateLimits } from '../../core/types/rate-limits';
import { textOfTime, type Aged } from '../../core/types/page';
import type { OrganizationStatus } from '../../core/database/entities/organization.entity';

export interface OrganizationFilter {
  readonly status: OrganizationStatus | null;
  /** Part of the name, case-insensitive. */
  readonly search: string | null;
}

/** An organization in the operator's list. Amounts are decimal text, as PostgreSQL returns them. */
export interface OrganizationSummaryRow extends Aged, RateLimits {
  readonly name: string;
  readonly status: OrganizationStatus;
  readonly createdAt: Date;
  readonly balance: string;
  readonly reserved: string;
  readonly monthlyLimit: string | null;
  readonly ownMonthlyLimit: string | null;
  readonly purchaseLimitDay: string | null;
  readonly purchaseLimitMonth: string | null;
  readonly maxApiKeys: number;
}

export interface OrganizationCounts {
  readonly members: number;
  /** Keys that are not revoked. */
  readonly keys: number;
}

const SUMMARY = `
  SELECT o.id, o.name, o.status, o.created_at AS "createdAt", ${textOfTime('o.created_at')} AS "createdAtText",
         o.requests_per_second AS "requestsPerSecond", o.requests_per_minute AS "requestsPerMinute",
         o.tokens_per_minute AS "tokensPerMinute", o.concurrency, o.max_api_keys AS "maxApiKeys",
         COALESCE(a.balance_micro, 0)::text AS balance, COALESCE(a.reserved_micro, 0)::text AS reserved,
         a.operator_monthly_limit_micro::text AS "monthlyLimit",
         a.own_monthly_limit_micro::text AS "ownMonthlyLimit", b.purchase_limit_day_micro::text AS "purchaseLimitDay",
         b.purchase_limit_month_micro::text AS "purchaseLimitMonth"
    FROM organization o
    LEFT JOIN organization_account a ON a.organization_id = o.id
    LEFT JOIN billing_settings b ON b.organization_id = o.id`;

/** Sorts all matching organizations: operators list them rarely, and there are thousands, not millions. */
const FIND = `${SUMMARY}
   WHERE ($1::text IS NULL OR o.status = $1)
     AND ($2::text IS NULL OR position(lower($2) IN lower(o.name)) > 0)
     AND ($3::timestamptz IS NULL OR (o.created_at, o.id) < ($3::timestamptz, $4::uuid))
   ORDER BY o.created_at DESC, o.id DESC LIMIT $5`;

/** Newest first. @param after sort key of the previous page's last item; `null`: first page. */
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
              WHERE organization_id = $1 AND playground_user_id IS NULL
                AND (revoked_at IS NULL OR revoked_at > now()))::text AS keys`,
    [organizationId],
  );
  return { members: Number(row?.members ?? 0), keys: Number(row?.keys ?? 0) };
}

/** Purchase limits; `undefined`: unchanged, `null`: the platform's limit. */
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
