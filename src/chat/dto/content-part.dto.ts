import { Equals, IsIn, IsOptional, IsString, Matches, MinLength } from 'class-validator';
import { NestedObject } from '../../common/validation/nested';
import { IMAGE_ADDRESS } from '../../contract/patterns';

export class TextPartDto {
  @Equals('text')
  type!: 'text';

  @IsString()
  text!: string;
}

export class ImageUrlDto {
  @Matches(IMAGE_ADDRESS, { message: '$property must be an https or data address' })
  url!: string;

  @IsOptional()
  @IsString()
  detail?: string | null;
}

export class ImagePartDto {
  @Equals('image_url')
  type!: 'image_url';

  @NestedObject(ImageUrlDto)
  image_url!: ImageUrlDto;
}

export class InputAudioDto {
  @IsString()
  @MinLength(1)
  data!: string;

  @IsIn(['wav', 'mp3'])
  format!: 'wav' | 'mp3';
}

export class InputAudioPartDto {
  @Equals('input_audio')
  type!: 'input_audio';

  @NestedObject(InputAudioDto)
  input_audio!: InputAudioDto;
}

/** Closed: a `file_id` could only mean a file that somebody else uploaded at the provider. */
export class FileDto {
  @IsOptional()
  @IsString()
  filename?: string | null;

  @IsString()
  @MinLength(1)
  file_data!: string;
}

export class FilePartDto {
  @Equals('file')
  type!: 'file';

  @NestedObject(FileDto, { closed: true })
  file!: FileDto;
}

export class RefusalPartDto {
  @Equals('refusal')
  type!: 'refusal';

  @IsString()
  refusal!: string;
}

export const TEXT_PARTS = { text: TextPartDto };
export const USER_PARTS = {
  text: TextPartDto,
  image_url: ImagePartDto,
  input_audio: InputAudioPartDto,
  file: FilePartDto,
};
export const ASSISTANT_PARTS = { text: TextPartDto, refusal: RefusalPartDto };
