import { ArrayNotEmpty, Equals, IsBoolean, IsIn, IsOptional, IsString } from 'class-validator';
import { NestedObject, NestedVariants, UnlessString } from '../../core/validation/nested';
import { TEXT_PARTS, type TextPartDto } from './content-part.dto';

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
  @UnlessString()
  @NestedObject(CustomVoiceDto)
  voice!: string | CustomVoiceDto;

  @IsIn(AUDIO_FORMATS)
  format!: (typeof AUDIO_FORMATS)[number];
}

export class PredictionDto {
  @Equals('content')
  type!: 'content';

  @UnlessString()
  @NestedVariants('type', TEXT_PARTS)
  @ArrayNotEmpty()
  content!: string | TextPartDto[];
}
