import { ArrayMaxSize, ArrayNotEmpty, IsArray } from 'class-validator';
import { AreImageSources } from '../../core/media/image-source';
import { ImageFieldsDto, MAX_IMAGES } from './image-fields.dto';

/** JSON body of `POST /v1/images/edits`: the document's `ImageEditRequest`. */
export class ImageEditRequestDto extends ImageFieldsDto {
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_IMAGES)
  @AreImageSources()
  input_images!: string[];
}
