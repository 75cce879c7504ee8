import { IsBoolean, IsIn, IsInt, IsNumber, IsOptional, Max, Min } from 'class-validator';
import { JobFieldsDto } from './job-fields.dto';

const MUSIC_FORMATS = ['mp3', 'wav', 'flac'] as const;

/** Body of `POST /v1/music/generations`: the document's `MusicRequest`. */
export class MusicRequestDto extends JobFieldsDto {
  @IsOptional()
  @IsNumber()
  @Min(1)
  @Max(600)
  duration_seconds?: number | null;

  @IsOptional()
  @IsIn(MUSIC_FORMATS)
  format?: (typeof MUSIC_FORMATS)[number] | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(768_000)
  sample_rate?: number | null;

  @IsOptional()
  @IsBoolean()
  instrumental?: boolean | null;
}
