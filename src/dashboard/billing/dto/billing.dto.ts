import { IsDivisibleBy, IsInt, IsOptional, Max, Min } from 'class-validator';
import { PageQuery, QueryOneOf, QueryTime } from '../../../core/validation/query-fields';
import type { LedgerEntryKind } from '../../../billing/payments/account-statement.repository';

/** One cent. */
const CENT_MICRO = 10_000;

/** The document's `BillingSettingsUpdate`. */
export class BillingSettingsUpdateDto {
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  monthly_limit_micro?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  low_balance_threshold_micro?: number | null;
}

/** The document's `PurchaseCreation`. */
export class PurchaseCreationDto {
  @IsInt()
  @Min(1_000_000)
  @Max(10_000_000_000)
  @IsDivisibleBy(CENT_MICRO, { message: '$property must be whole cents, which are 10000 micro-units' })
  amount_micro!: number;
}

export class LedgerFilterQuery {
  @QueryOneOf(['topup', 'charge', 'refund', 'adjust'])
  kind?: LedgerEntryKind;

  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;
}

export class LedgerQuery extends PageQuery {
  @QueryOneOf(['topup', 'charge', 'refund', 'adjust'])
  kind?: LedgerEntryKind;

  @QueryTime()
  from?: Date;

  @QueryTime()
  to?: Date;
}
