import { IsInt, IsOptional, Max, Min } from 'class-validator';
import type { RateLimits } from '../../../common/rate-limits';

/** What the database stores limits as. */
const MAX_LIMIT = 2_147_483_647;

/** Limits to change: absent as it was, null no such limit. */
export abstract class RateLimitsDto {
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  requests_per_second?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  requests_per_minute?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  tokens_per_minute?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  concurrency?: number | null;
}

export function toLimitChanges(dto: RateLimitsDto): Partial<RateLimits> {
  return {
    ...(dto.requests_per_second !== undefined && { requestsPerSecond: dto.requests_per_second }),
    ...(dto.requests_per_minute !== undefined && { requestsPerMinute: dto.requests_per_minute }),
    ...(dto.tokens_per_minute !== undefined && { tokensPerMinute: dto.tokens_per_minute }),
    ...(dto.concurrency !== undefined && { concurrency: dto.concurrency }),
  };
}
