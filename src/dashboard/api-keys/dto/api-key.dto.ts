import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
} from 'class-validator';
import { MODALITY_GROUPS, type ModalityGroup } from '../../../core/types/modality';
import { MAX_RATE_LIMIT } from '../../../core/types/rate-limits';
import { CodePointLength } from '../../../core/validation/code-points';
import { PageQuery, QueryBoolean, QueryOneOf, QueryText } from '../../../core/validation/query-fields';
import type { EachContext } from '../../../core/validation/strict-dto.pipe';
import { API_KEY_ORDERS, type ApiKeyOrder } from '../../../auth/api-keys/api-key-list';
import {
  API_KEY_KINDS,
  API_KEY_STATUSES,
  type ApiKeyKind,
  type ApiKeyStatus,
} from '../../../auth/api-keys/api-key-record';

/** The document's pattern: a timestamp with a time zone. Whether the date exists is checked later. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const MAX_GRACE_SECONDS = 2_592_000;
const EACH_STRING: EachContext = { acceptsItem: (item) => typeof item === 'string' };
const EACH_MODALITY: EachContext = { acceptsItem: (item) => MODALITY_GROUPS.some((group) => group === item) };

/** The document's `ApiKeySettings`. Null: no such rule. */
export class ApiKeySettingsDto {
  @IsOptional()
  @CodePointLength(1, 200)
  name?: string | null;

  @IsOptional()
  @Matches(TIME, { message: '$property must be a time such as 2030-01-31T12:00:00Z' })
  expires_at?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(200)
  @IsString({ each: true, context: EACH_STRING })
  allowed_ips?: string[] | null;

  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(200)
  @IsString({ each: true, context: EACH_STRING })
  allowed_models?: string[] | null;

  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MODALITY_GROUPS.length)
  @IsIn(MODALITY_GROUPS, { each: true, context: EACH_MODALITY })
  allowed_modalities?: ModalityGroup[] | null;

  @LimitOf(MAX_RATE_LIMIT, 1)
  requests_per_second?: number | null;

  @LimitOf(MAX_RATE_LIMIT, 1)
  requests_per_minute?: number | null;

  @LimitOf(MAX_RATE_LIMIT, 1)
  tokens_per_minute?: number | null;

  @LimitOf(MAX_RATE_LIMIT, 1)
  concurrency?: number | null;

  @LimitOf(Number.MAX_SAFE_INTEGER)
  daily_budget_micro?: number | null;

  @LimitOf(Number.MAX_SAFE_INTEGER)
  monthly_budget_micro?: number | null;
}

/** The document's `ApiKeyRotation`. */
export class ApiKeyRotationDto {
  @LimitOf(MAX_GRACE_SECONDS)
  grace_seconds?: number | null;
}

/** The query of `listApiKeys` and `listOperatorApiKeys`. */
export class ApiKeyQuery extends PageQuery {
  @QueryOneOf(API_KEY_KINDS)
  kind?: ApiKeyKind;

  @QueryOneOf(API_KEY_STATUSES)
  status?: ApiKeyStatus;

  @QueryText({ max: 200 })
  search?: string;

  @QueryBoolean()
  revoked?: boolean;

  @QueryOneOf(API_KEY_ORDERS)
  order?: ApiKeyOrder;
}

function LimitOf(max: number, min = 0): PropertyDecorator {
  const rules = [Max(max), Min(min), IsInt(), IsOptional()];
  return (target, property) => rules.forEach((rule) => rule(target, property));
}
