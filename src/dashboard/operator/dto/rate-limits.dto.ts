import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { MAX_RATE_LIMIT, type RateLimits } from '../../../core/types/rate-limits';

/** Rate limits to change. Absent: unchanged; null: no limit. */
export abstract class RateLimitsDto {
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_RATE_LIMIT)
  requests_per_second?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_RATE_LIMIT)
  requests_per_minute?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_RATE_LIMIT)
  tokens_per_minute?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_RATE_LIMIT)
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
