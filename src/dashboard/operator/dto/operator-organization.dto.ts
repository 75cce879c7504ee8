import { IsInt, IsOptional, Max, Min } from 'class-validator';
import type { Micro } from '../../../core/types/micro';
import { CodePointLength } from '../../../core/validation/code-points';
import { PageQuery, QueryBoolean, QueryOneOf, QueryText } from '../../../core/validation/query-fields';
import {
  HIGHEST_MAX_API_KEYS,
  ORGANIZATION_STATUSES,
  type OrganizationStatus,
} from '../../../core/database/entities/organization.entity';
import { PURCHASE_STATES, type PurchaseState } from '../../../core/database/entities/purchase.entity';
import type { OrganizationLimitChanges } from '../../organizations/operator-organization.service';
import { RateLimitsDto, toLimitChanges } from './rate-limits.dto';

export class OrganizationsQuery extends PageQuery {
  @QueryOneOf(ORGANIZATION_STATUSES)
  status?: OrganizationStatus;

  /** Part of the name. */
  @QueryText({ max: 200 })
  search?: string;
}

/** The query of both lists of purchases. */
export class OperatorPurchasesQuery extends PageQuery {
  @QueryOneOf(PURCHASE_STATES)
  status?: PurchaseState;

  @QueryBoolean()
  needs_review?: boolean;
}

/** The document's `PurchaseReview`. */
export class PurchaseReviewDto {
  @CodePointLength(1, 500)
  note!: string;
}

/** Body of suspend and activate: the document's `OrganizationStatusChange`. */
export class OrganizationStatusChangeDto {
  @CodePointLength(1, 500)
  reason!: string;
}

/** The document's `OrganizationLimitsUpdate`. */
export class OrganizationLimitsUpdateDto extends RateLimitsDto {
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  monthly_limit_micro?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  purchase_limit_day_micro?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  purchase_limit_month_micro?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(HIGHEST_MAX_API_KEYS)
  max_api_keys?: number | null;
}

/** The document's `BalanceAdjustmentRequest`. */
export class BalanceAdjustmentRequestDto {
  @IsInt()
  @Min(Number.MIN_SAFE_INTEGER)
  @Max(Number.MAX_SAFE_INTEGER)
  amount_micro!: number;

  @CodePointLength(1, 500)
  reason!: string;

  @CodePointLength(1, 200)
  reference!: string;
}

export function toOrganizationLimitChanges(dto: OrganizationLimitsUpdateDto): OrganizationLimitChanges {
  return {
    limits: toLimitChanges(dto),
    monthlyLimitMicro: toMicro(dto.monthly_limit_micro),
    purchaseLimitDayMicro: toMicro(dto.purchase_limit_day_micro),
    purchaseLimitMonthMicro: toMicro(dto.purchase_limit_month_micro),
    maxApiKeys: dto.max_api_keys,
  };
}

function toMicro(amount: number | null | undefined): Micro | null | undefined {
  return amount == null ? amount : BigInt(amount);
}
