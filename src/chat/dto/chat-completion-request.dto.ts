import {
  ArrayMaxSize,
  ArrayNotEmpty,
  Equals,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { FUNCTION_NAME } from '../../contract/patterns';
import { NestedArray, NestedObject, NestedVariant, NestedVariants, UnlessString } from '../../core/validation/nested';
import { IsNumberRecord, IsStringRecord } from '../../core/validation/records';
import { RoutingDto } from '../../models/routing/routing.dto';
import { type ChatMessageDto, MESSAGE_ROLES, TEXT_PARTS, type TextPartDto } from './chat-message.dto';
import {
  type AllowedToolsChoiceDto,
  type CustomToolDto,
  FUNCTION_CALL_WORDS,
  FunctionDefinitionDto,
  FunctionReferenceDto,
  type FunctionToolDto,
  type NamedCustomToolChoiceDto,
  type NamedToolChoiceDto,
  TOOL_CHOICE_WORDS,
  TOOL_CHOICES,
  TOOLS,
} from './chat-tool.dto';

export class StreamOptionsDto {
  @IsOptional()
  @IsBoolean()
  include_usage?: boolean | null;

  @IsOptional()
  @IsBoolean()
  include_obfuscation?: boolean | null;
}

export class CustomVoiceDto {
  @IsString()
  id!: string;
}

const AUDIO_FORMATS = ['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16'] as const;

export class AudioOutputDto {
  @NestedObject(CustomVoiceDto, { orString: true })
  voice!: string | CustomVoiceDto;

  @IsIn(AUDIO_FORMATS)
  format!: (typeof AUDIO_FORMATS)[number];
}

export class PredictionDto {
  @Equals('content')
  type!: 'content';

  @NestedVariants('type', TEXT_PARTS, { orString: true })
  @ArrayNotEmpty()
  content!: string | TextPartDto[];
}

export class TextFormatDto {
  @Equals('text')
  type!: 'text';
}

export class JsonObjectFormatDto {
  @Equals('json_object')
  type!: 'json_object';
}

export class JsonSchemaDto {
  @Matches(FUNCTION_NAME, { message: '$property must be 1 to 64 letters, digits, underscores or dashes' })
  name!: string;

  @IsOptional()
  @IsString()
  description?: string | null;

  @IsOptional()
  @IsObject()
  schema?: Record<string, unknown> | null;

  @IsOptional()
  @IsBoolean()
  strict?: boolean | null;
}

export class JsonSchemaFormatDto {
  @Equals('json_schema')
  type!: 'json_schema';

  @NestedObject(JsonSchemaDto)
  json_schema!: JsonSchemaDto;
}

const RESPONSE_FORMATS = {
  text: TextFormatDto,
  json_object: JsonObjectFormatDto,
  json_schema: JsonSchemaFormatDto,
};

/** Enough for any model, and small enough that tokens times price stays exact. */
export const MAX_TOKENS = 2_147_483_647;
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const VERBOSITIES = ['low', 'medium', 'high'] as const;
const OUTPUT_MODALITIES = ['text', 'audio'] as const;

/** Fields that chat completions, completions and responses share. */
export class SamplingOptionsDto {
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
  frequency_penalty?: number | null;

  @IsOptional()
  @IsNumber()
  @Min(-2)
  @Max(2)
  presence_penalty?: number | null;
}

/**
 * Body of `POST /v1/chat/completions`: the document's `ChatCompletionRequest`. Null means absent. Undeclared fields are
 * passed to the provider.
 */
export class ChatCompletionRequestDto extends SamplingOptionsDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @NestedVariants('role', MESSAGE_ROLES)
  @ArrayNotEmpty()
  messages!: ChatMessageDto[];

  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  @IsOptional()
  @NestedObject(StreamOptionsDto)
  stream_options?: StreamOptionsDto | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_TOKENS)
  max_tokens?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_TOKENS)
  max_completion_tokens?: number | null;

  @IsOptional()
  @Equals(1, { message: '$property must be 1: only one choice per request is supported' })
  n?: 1 | null;

  @IsOptional()
  @IsNumberRecord(-100, 100)
  logit_bias?: Record<string, number> | null;

  @IsOptional()
  @IsBoolean()
  logprobs?: boolean | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(20)
  top_logprobs?: number | null;

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
  @NestedVariants('type', TOOLS)
  tools?: (FunctionToolDto | CustomToolDto)[] | null;

  @IsOptional()
  @NestedVariant('type', TOOL_CHOICES, { orOneOf: TOOL_CHOICE_WORDS })
  tool_choice?:
    (typeof TOOL_CHOICE_WORDS)[number] | NamedToolChoiceDto | NamedCustomToolChoiceDto | AllowedToolsChoiceDto | null;

  @IsOptional()
  @IsBoolean()
  parallel_tool_calls?: boolean | null;

  @IsOptional()
  @NestedArray(FunctionDefinitionDto)
  functions?: FunctionDefinitionDto[] | null;

  @IsOptional()
  @NestedObject(FunctionReferenceDto, { orOneOf: FUNCTION_CALL_WORDS })
  function_call?: (typeof FUNCTION_CALL_WORDS)[number] | FunctionReferenceDto | null;

  @IsOptional()
  @NestedVariant('type', RESPONSE_FORMATS)
  response_format?: TextFormatDto | JsonObjectFormatDto | JsonSchemaFormatDto | null;

  @IsOptional()
  @IsIn(REASONING_EFFORTS)
  reasoning_effort?: (typeof REASONING_EFFORTS)[number] | null;

  @IsOptional()
  @IsIn(VERBOSITIES)
  verbosity?: (typeof VERBOSITIES)[number] | null;

  @IsOptional()
  @IsArray()
  @IsIn(OUTPUT_MODALITIES, { each: true })
  modalities?: (typeof OUTPUT_MODALITIES)[number][] | null;

  @IsOptional()
  @NestedObject(AudioOutputDto)
  audio?: AudioOutputDto | null;

  @IsOptional()
  @NestedObject(PredictionDto)
  prediction?: PredictionDto | null;

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
  @IsStringRecord()
  metadata?: Record<string, string> | null;

  @IsOptional()
  @IsBoolean()
  store?: boolean | null;

  @IsOptional()
  @IsString()
  service_tier?: string | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
