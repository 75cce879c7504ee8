import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { CodePointLength } from '../../core/validation/code-points';
import type { FieldKind } from '../../core/validation/form-field';
import { NestedObject } from '../../core/validation/nested';
import { ROUTING_FIELD_KINDS, RoutingDto } from '../../models/routing/routing.dto';

const RESPONSE_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
const GRANULARITIES = ['word', 'segment'] as const;

export type TranscriptionFormat = (typeof RESPONSE_FORMATS)[number];

/** Fields of the form of `POST /v1/audio/transcriptions` besides its file: the document's `TranscriptionFields`. */
export class TranscriptionFieldsDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @IsOptional()
  @CodePointLength(1, 32)
  language?: string | null;

  @IsOptional()
  @CodePointLength(0, 32_000)
  prompt?: string | null;

  @IsOptional()
  @IsIn(RESPONSE_FORMATS)
  response_format?: TranscriptionFormat | null;

  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  temperature?: number | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(GRANULARITIES.length)
  @IsIn(GRANULARITIES, { each: true })
  timestamp_granularities?: (typeof GRANULARITIES)[number][] | null;

  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}

export const TRANSCRIPTION_FIELD_KINDS = {
  temperature: 'number',
  timestamp_granularities: 'list',
  stream: 'boolean',
  routing: ROUTING_FIELD_KINDS,
} as const satisfies Partial<Record<keyof TranscriptionFieldsDto, FieldKind>>;
