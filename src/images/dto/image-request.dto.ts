import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import { AreImageSources } from '../../core/media/image-source';
import { ImageFieldsDto, MAX_IMAGES } from './image-fields.dto';

/** Body of `POST /v1/images/generations`: the document's `ImageRequest`. */
export class ImageRequestDto extends ImageFieldsDto {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_IMAGES)
  @AreImageSources()
  input_images?: string[] | null;
}
