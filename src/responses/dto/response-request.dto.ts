import {
  ArrayNotEmpty,
  Equals,
  IsBoolean,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { NestedArray, NestedObject, UnlessString } from '../../core/validation/nested';
import { IsStringRecord } from '../../core/validation/records';
import { RoutingDto } from '../../models/routing/routing.dto';
import { ResponseInputItemDto } from './response-input-item.dto';
import { ResponseReasoningDto } from './response-reasoning.dto';
import { ResponseTextOptionsDto } from './response-text-options.dto';
import { ResponseToolDto } from './response-tool.dto';

/** Enough for any model, and small enough that tokens times price stays exact. */
const MAX_TOKENS = 2_147_483_647;
const NOT_STORED = {
  message:
    '$property is not supported: responses are not stored, so send the earlier items of the conversation in input',
};

/**
 * Body of `POST /v1/responses`: the document's `ResponseRequest`. Null means absent; undeclared fields are ignored.
 */
export class ResponseRequestDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @UnlessString()
  @NestedArray(ResponseInputItemDto)
  @ArrayNotEmpty()
  input!: string | ResponseInputItemDto[];

  @IsOptional()
  @IsString()
  instructions?: string | null;

  @IsOptional()
  @Equals(null, NOT_STORED)
  previous_response_id?: null;

  @IsOptional()
  @Equals(null, NOT_STORED)
  conversation?: null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_TOKENS)
  max_output_tokens?: number | null;

  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(2)
  temperature?: number | null;

  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  top_p?: number | null;

  @IsOptional()
  @IsNumber()
  @Min(-2)
  @Max(2)
  presence_penalty?: number | null;

  @IsOptional()
  @IsNumber()
  @Min(-2)
  @Max(2)
  frequency_penalty?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(20)
  top_logprobs?: number | null;

  @IsOptional()
  @NestedObject(ResponseReasoningDto)
  reasoning?: ResponseReasoningDto | null;

  @IsOptional()
  @IsString()
  service_tier?: string | null;

  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  @IsOptional()
  @NestedArray(ResponseToolDto)
  tools?: ResponseToolDto[] | null;

  @IsOptional()
  @UnlessString()
  @IsObject({ message: '$property must be a string or an object' })
  tool_choice?: string | Record<string, unknown> | null;

  @IsOptional()
  @IsBoolean()
  parallel_tool_calls?: boolean | null;

  @IsOptional()
  @NestedObject(ResponseTextOptionsDto)
  text?: ResponseTextOptionsDto | null;

  @IsOptional()
  @IsStringRecord()
  metadata?: Record<string, string> | null;

  @IsOptional()
  @IsString()
  user?: string | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
