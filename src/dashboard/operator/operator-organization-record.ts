import { microToJson, type Micro } from '../../core/types/micro';
import { toRateLimitFields } from '../../core/types/rate-limits';
import { requireUuid } from '../../core/types/require-uuid';
import type { components } from '../../contract/dashboard';
import type { OrganizationDetails, OrganizationSummary } from '../organizations/operator-organization.service';

type Schemas = components['schemas'];

export function toOrganizationRecord(organization: OrganizationSummary): Schemas['OperatorOrganization'] {
  const { id, name, status, createdAt, limits, balanceMicro, reservedMicro } = organization;
  return {
    object: 'operator.organization',
    id,
    name,
    status,
    balance_micro: microToJson(balanceMicro),
    reserved_micro: microToJson(reservedMicro),
    ...toRateLimitFields(limits),
    monthly_limit_micro: toJson(organization.monthlyLimitMicro),
    own_monthly_limit_micro: toJson(organization.ownMonthlyLimitMicro),
    purchase_limit_day_micro: toJson(organization.purchaseLimitDayMicro),
    purchase_limit_month_micro: toJson(organization.purchaseLimitMonthMicro),
    max_api_keys: organization.maxApiKeys,
    created_at: createdAt.toISOString(),
  };
}

export function toDetailsRecord(organization: OrganizationDetails): Schemas['OperatorOrganizationDetails'] {
  const { members, keys } = organization;
  return { ...toOrganizationRecord(organization), counts: { members, keys } };
}

/** @throws GatewayError `not_found` */
export function requireOrganizationId(text: string): string {
  return requireUuid(text, 'There is no such organization.');
}

function toJson(amount: Micro | null): number | null {
  return amount === null ? null : microToJson(amount);
}
