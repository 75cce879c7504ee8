import { IsIn, IsNumber, IsOptional, IsString, Max, MaxLength, Min, MinLength } from 'class-validator';
import { CodePointLength } from '../../core/validation/code-points';
import { NestedObject } from '../../core/validation/nested';
import type { SpeechFormat } from '../../providers/contract/speech';
import { RoutingDto } from '../../models/routing/routing.dto';

const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const satisfies readonly SpeechFormat[];
const STREAM_FORMATS = ['audio', 'sse'] as const;

/** Body of `POST /v1/audio/speech`: the document's `SpeechRequest`. Null means absent. */
export class SpeechRequestDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @CodePointLength(1, 4_096)
  input!: string;

  @CodePointLength(1, 256)
  voice!: string;

  @IsOptional()
  @IsIn(SPEECH_FORMATS)
  response_format?: SpeechFormat | null;

  @IsOptional()
  @IsNumber()
  @Min(0.25)
  @Max(4)
  speed?: number | null;

  @IsOptional()
  @CodePointLength(0, 4_096)
  instructions?: string | null;

  @IsOptional()
  @IsIn(STREAM_FORMATS)
  stream_format?: (typeof STREAM_FORMATS)[number] | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
