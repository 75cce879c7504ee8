import {
  ArrayNotEmpty,
  Equals,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
  NotEquals,
} from 'class-validator';
import { NestedArray, NestedObject, UnlessString } from '../../core/validation/nested';
import {
  MAX_TOKENS,
  REASONING_EFFORTS,
  SamplingOptionsDto,
  VERBOSITIES,
} from '../../chat/dto/chat-completion-request.dto';
import { IsStringRecord } from '../../core/validation/records';
import { RoutingDto } from '../../models/routing/routing.dto';

/**
 * Fields of the items of `input`. Required fields depend on the type and are checked during translation, because items
 * of unknown types are accepted with any content.
 */
export class ResponseInputItemDto {
  @IsOptional()
  @IsString()
  @NotEquals('item_reference', {
    message:
      '$property item_reference is not supported: items are not stored, so send the item itself (some clients need store: false)',
  })
  type?: string | null;

  @IsOptional()
  @IsString()
  role?: string | null;

  @IsOptional()
  @UnlessString()
  @IsArray({ message: '$property must be a string or an array of parts' })
  @IsObject({ each: true })
  content?: string | Record<string, unknown>[] | null;

  @IsOptional()
  @IsString()
  call_id?: string | null;

  @IsOptional()
  @IsString()
  name?: string | null;

  @IsOptional()
  @IsString()
  phase?: string | null;

  arguments?: unknown;

  output?: unknown;
}

export class ResponseReasoningDto {
  @IsOptional()
  @IsIn(REASONING_EFFORTS)
  effort?: (typeof REASONING_EFFORTS)[number] | null;
}

const TEXT_FORMATS = ['text', 'json_object', 'json_schema'] as const;

export class ResponseTextFormatDto {
  @IsIn(TEXT_FORMATS)
  type!: (typeof TEXT_FORMATS)[number];
}

export class ResponseTextOptionsDto {
  @IsOptional()
  @NestedObject(ResponseTextFormatDto)
  format?: ResponseTextFormatDto | null;

  @IsOptional()
  @IsIn(VERBOSITIES)
  verbosity?: (typeof VERBOSITIES)[number] | null;
}

/** A function or custom tool; other types are ignored. */
export class ResponseToolDto {
  @IsString()
  type!: string;

  @IsOptional()
  @IsString()
  name?: string | null;

  @IsOptional()
  @IsString()
  description?: string | null;

  @IsOptional()
  @IsObject()
  parameters?: Record<string, unknown> | null;

  @IsOptional()
  @IsBoolean()
  strict?: boolean | null;
}

const NOT_STORED = {
  message:
    '$property is not supported: responses are not stored, so send the earlier items of the conversation in input',
};

/**
 * Body of `POST /v1/responses`: the document's `ResponseRequest`. Null means absent; undeclared fields are ignored.
 */
export class ResponseRequestDto extends SamplingOptionsDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @NestedArray(ResponseInputItemDto, { orString: true })
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
  @Equals(null, {
    message: '$property is not supported: prompts are not stored, so send their text in instructions and input',
  })
  prompt?: null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_TOKENS)
  max_output_tokens?: number | null;

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
  @IsString()
  safety_identifier?: string | null;

  @IsOptional()
  @IsString()
  prompt_cache_key?: string | null;

  @IsOptional()
  @IsString()
  prompt_cache_retention?: string | null;

  @IsOptional()
  @IsObject()
  prompt_cache_options?: Record<string, unknown> | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
