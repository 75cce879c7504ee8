import { ArrayMaxSize, IsArray, IsBoolean, IsNumber, IsOptional, IsString, Matches, Max, Min } from 'class-validator';
import { ASPECT_RATIO } from '../../contract/patterns';
import { AreImageSources } from '../../core/media/image-inputs';
import { IsHttpsUrl, JobFieldsDto } from './job-fields.dto';

const MAX_INPUT_IMAGES = 10;

/** Body of `POST /v1/video/generations`: the document's `VideoRequest`. */
export class VideoRequestDto extends JobFieldsDto {
  @IsOptional()
  @IsNumber()
  @Min(1)
  @Max(120)
  duration_seconds?: number | null;

  @IsHttpsUrl()
  image_url?: string | null;

  @IsHttpsUrl()
  end_image_url?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_INPUT_IMAGES)
  @AreImageSources()
  input_images?: string[] | null;

  @IsOptional()
  @IsString()
  resolution?: string | null;

  @IsOptional()
  @Matches(ASPECT_RATIO, { message: '$property must have the form WIDTH:HEIGHT' })
  aspect_ratio?: string | null;

  @IsOptional()
  @IsBoolean()
  audio?: boolean | null;
}
