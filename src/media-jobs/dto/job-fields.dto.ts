import { IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min, MinLength } from 'class-validator';
import { CodePointLength } from '../../common/validation/code-points';
import { NestedObject } from '../../common/validation/nested';
import { IsStringRecord } from '../../common/validation/records';
import { HTTPS_URL } from '../../contract/patterns';
import { RoutingDto } from '../../routing/routing.dto';

const MAX_PROMPT_CHARACTERS = 10_000;
/** Labels for the client's own bookkeeping, no place for files. */
const METADATA_LIMITS = { maxEntries: 64, maxNameLength: 64, maxValueLength: 512 };

/** An https address; what it points at is judged later. Null means the same as absent. */
export function IsHttpsUrl(): PropertyDecorator {
  const isLong = CodePointLength(9, 2_048);
  const isHttps = Matches(HTTPS_URL, { message: '$property must be an https address' });
  const isOptional = IsOptional();
  return (target, property) => {
    isLong(target, property);
    isHttps(target, property);
    isOptional(target, property);
  };
}

/**
 * What every submission of a job says (contract sections 4.5 and 4.6). Null means the same as absent. Fields that are not
 * declared are ignored (decision *unknown-fields*).
 */
export class JobFieldsDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @CodePointLength(1, MAX_PROMPT_CHARACTERS)
  prompt!: string;

  @IsHttpsUrl()
  webhook_url?: string | null;

  @IsOptional()
  @IsStringRecord(METADATA_LIMITS)
  metadata?: Record<string, string> | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  max_cost_micro?: number | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
