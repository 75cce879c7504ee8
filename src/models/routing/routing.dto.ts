import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
} from 'class-validator';
import type { FieldKind } from '../../core/validation/form-field';
import { NestedObject } from '../../core/validation/nested';
import { MODEL_ID } from '../../contract/patterns';

export const ROUTING_STRATEGIES = ['priority', 'price', 'latency', 'throughput', 'weighted', 'smart'] as const;

/** Far more than any deployment needs; longer lists would only cost time. */
const MAX_PROVIDERS = 64;
const MAX_MODELS = 16;

/** `setTimeout` fires at once for larger values. */
const MAX_TIMEOUT_MS = 2_147_483_647;

export class MaxPriceDto {
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  prompt?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  completion?: number | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  request?: number | null;
}

/** The `routing` object that every request accepts. Nest it `closed`. */
export class RoutingDto {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_PROVIDERS)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  order?: string[] | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_PROVIDERS)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  only?: string[] | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_PROVIDERS)
  @IsString({ each: true })
  @MinLength(1, { each: true })
  ignore?: string[] | null;

  @IsOptional()
  @IsBoolean()
  allow_fallbacks?: boolean | null;

  @IsOptional()
  @IsIn(ROUTING_STRATEGIES)
  strategy?: (typeof ROUTING_STRATEGIES)[number] | null;

  @IsOptional()
  @NestedObject(MaxPriceDto, { closed: true })
  max_price?: MaxPriceDto | null;

  @IsOptional()
  @IsBoolean()
  require_parameters?: boolean | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_TIMEOUT_MS)
  timeout_ms?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(8)
  max_attempts?: number | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_MODELS)
  @Matches(MODEL_ID, { each: true, message: '$property must have the form <vendor>/<model_name>' })
  models?: string[] | null;
}

/** The fields of the object when it is part of a form. */
export const ROUTING_FIELD_KINDS = {
  order: 'list',
  only: 'list',
  ignore: 'list',
  allow_fallbacks: 'boolean',
  strategy: 'text',
  max_price: { prompt: 'number', completion: 'number', request: 'number' } satisfies Record<
    keyof MaxPriceDto,
    FieldKind
  >,
  require_parameters: 'boolean',
  timeout_ms: 'number',
  max_attempts: 'number',
  models: 'list',
} as const satisfies Record<keyof RoutingDto, FieldKind>;
