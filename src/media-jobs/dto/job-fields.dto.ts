import { IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min, MinLength } from 'class-validator';
import { CodePointLength } from '../../core/validation/code-points';
import { NestedObject } from '../../core/validation/nested';
import { IsStringRecord } from '../../core/validation/records';
import { HTTPS_URL } from '../../contract/patterns';
import { RoutingDto } from '../../models/routing/routing.dto';

const MAX_PROMPT_CHARACTERS = 10_000;
/** Metadata is for client labels, not for files. */
const METADATA_LIMITS = { maxEntries: 64, maxNameLength: 64, maxValueLength: 512 };

/** An https URL; its host is checked later. Null means the same as absent. */
export function IsHttpsUrl(): PropertyDecorator {
  const isLong = CodePointLength(9, 2_048);
  const isHttps = Matches(HTTPS_URL, { message: '$property must be an https URL' });
  const isOptional = IsOptional();
  return (target, property) => {
    isLong(target, property);
    isHttps(target, property);
    isOptional(target, property);
  };
}

/**
 * Fields common to all job submissions. Null means the same as absent. Undeclared fields are ignored.
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
