import {
  ArrayMaxSize,
  ArrayNotEmpty,
  Equals,
  IsArray,
  IsBoolean,
  IsInt,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { MAX_TOKENS, SamplingOptionsDto, StreamOptionsDto } from '../../dto/chat-completion-request.dto';
import { NestedObject, UnlessString } from '../../../core/validation/nested';
import { IsNumberRecord } from '../../../core/validation/records';
import { RoutingDto } from '../../../models/routing/routing.dto';
import { IsPrompt } from './prompt';

/**
 * Body of `POST /v1/completions`: the document's `CompletionRequest`. Null means absent. Undeclared fields are passed
 * to the provider.
 */
export class CompletionRequestDto extends SamplingOptionsDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @IsPrompt()
  prompt!: string | string[];

  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  @IsOptional()
  @NestedObject(StreamOptionsDto)
  stream_options?: StreamOptionsDto | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_TOKENS)
  max_tokens?: number | null;

  @IsOptional()
  @Equals(1, { message: '$property must be 1: only one choice per request is supported' })
  n?: 1 | null;

  @IsOptional()
  @Equals(1, { message: '$property must be 1: only one choice per request is generated' })
  best_of?: 1 | null;

  @IsOptional()
  @IsNumberRecord(-100, 100)
  logit_bias?: Record<string, number> | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(5)
  logprobs?: number | null;

  @IsOptional()
  @IsBoolean()
  echo?: boolean | null;

  @IsOptional()
  @IsString()
  suffix?: string | null;

  @IsOptional()
  @UnlessString()
  @IsArray({ message: '$property must be a string or an array of 1 to 4 strings' })
  @ArrayNotEmpty()
  @ArrayMaxSize(4)
  @IsString({ each: true })
  stop?: string | string[] | null;

  @IsOptional()
  @IsInt()
  @Min(Number.MIN_SAFE_INTEGER)
  @Max(Number.MAX_SAFE_INTEGER)
  seed?: number | null;

  @IsOptional()
  @IsString()
  user?: string | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
