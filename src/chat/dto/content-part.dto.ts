import { Equals, IsIn, IsOptional, IsString, Matches } from 'class-validator';
import { NestedObject } from '../../core/validation/nested';
import { IMAGE_ADDRESS, INLINE_DATA } from '../../contract/patterns';

export class TextPartDto {
  @Equals('text')
  type!: 'text';

  @IsString()
  text!: string;
}

export class ImageUrlDto {
  @Matches(IMAGE_ADDRESS, { message: '$property must be an https or data URL' })
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
  @Matches(INLINE_DATA, { message: '$property must be base64 or a data URL' })
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

/** Rejects unknown fields: a `file_id` would refer to files in the operator's provider account. */
export class FileDto {
  @IsOptional()
  @IsString()
  filename?: string | null;

  @Matches(INLINE_DATA, { message: '$property must be base64 or a data URL' })
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
