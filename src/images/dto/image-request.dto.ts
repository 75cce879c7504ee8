import {
  ArrayMaxSize,
  ArrayNotEmpty,
  Equals,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { CodePointLength } from '../../core/validation/code-points';
import { NestedObject } from '../../core/validation/nested';
import { IMAGE_SIZE } from '../../contract/patterns';
import { RoutingDto } from '../../models/routing/routing.dto';
import { AreImageSources } from '../../core/media/image-inputs';

export const MAX_IMAGES = 10;
const MAX_PROMPT_CHARACTERS = 32_000;

export const IMAGE_QUALITIES = ['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'] as const;
const OUTPUT_FORMATS = ['png', 'jpeg', 'webp'] as const;
const BACKGROUNDS = ['transparent', 'opaque', 'auto'] as const;
const COMPLEXITIES = ['low', 'medium', 'high'] as const;
const MODERATIONS = ['low', 'auto'] as const;
const INPUT_FIDELITIES = ['low', 'high'] as const;
export const IMAGE_RESPONSE_FORMATS = ['url', 'b64_json'] as const;
export type ImageResponseFormat = (typeof IMAGE_RESPONSE_FORMATS)[number];

/**
 * The fields of every image request, and of the edit form besides its files. Null means absent. Undeclared fields are
 * ignored.
 */
export class ImageFieldsDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @CodePointLength(1, MAX_PROMPT_CHARACTERS)
  prompt!: string;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_IMAGES)
  n?: number | null;

  @IsOptional()
  @Matches(IMAGE_SIZE, { message: '$property must have the form WIDTHxHEIGHT or be auto' })
  size?: string | null;

  @IsOptional()
  @IsIn(IMAGE_QUALITIES)
  quality?: (typeof IMAGE_QUALITIES)[number] | null;

  @IsOptional()
  @IsString()
  style?: string | null;

  @IsOptional()
  @IsIn(OUTPUT_FORMATS)
  output_format?: (typeof OUTPUT_FORMATS)[number] | null;

  @IsOptional()
  @IsIn(BACKGROUNDS)
  background?: (typeof BACKGROUNDS)[number] | null;

  @IsOptional()
  @IsIn(COMPLEXITIES)
  complexity?: (typeof COMPLEXITIES)[number] | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(100)
  output_compression?: number | null;

  @IsOptional()
  @IsIn(MODERATIONS)
  moderation?: (typeof MODERATIONS)[number] | null;

  @IsOptional()
  @IsIn(INPUT_FIDELITIES)
  input_fidelity?: (typeof INPUT_FIDELITIES)[number] | null;

  @IsOptional()
  @IsIn(IMAGE_RESPONSE_FORMATS)
  response_format?: ImageResponseFormat | null;

  @IsOptional()
  @IsString()
  user?: string | null;

  @IsOptional()
  @Equals(false, { message: 'images are not streamed: $property must be false' })
  stream?: false | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}

/** Body of `POST /v1/images/generations`: the document's `ImageRequest`. */
export class ImageRequestDto extends ImageFieldsDto {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_IMAGES)
  @AreImageSources()
  input_images?: string[] | null;
}

/** JSON body of `POST /v1/images/edits`: the document's `ImageEditRequest`. */
export class ImageEditRequestDto extends ImageFieldsDto {
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_IMAGES)
  @AreImageSources()
  input_images!: string[];
}
