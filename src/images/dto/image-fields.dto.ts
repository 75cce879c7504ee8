import { IsIn, IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min, MinLength } from 'class-validator';
import { CodePointLength } from '../../common/validation/code-points';
import { NestedObject } from '../../common/validation/nested';
import { IMAGE_SIZE } from '../../contract/patterns';
import { RoutingDto } from '../../routing/routing.dto';

export const MAX_IMAGES = 10;
const MAX_PROMPT_CHARACTERS = 32_000;

export const IMAGE_QUALITIES = ['standard', 'hd', 'low', 'medium', 'high', 'auto'] as const;
export const IMAGE_RESPONSE_FORMATS = ['url', 'b64_json'] as const;
export type ImageResponseFormat = (typeof IMAGE_RESPONSE_FORMATS)[number];

/**
 * What every request for images says (contract section 4.3), and all that the form of an edit says beside its files. Null
 * means the same as absent. Fields that are not declared are ignored (decision *unknown-fields*).
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
  @Matches(IMAGE_SIZE, { message: '$property must have the form WIDTHxHEIGHT' })
  size?: string | null;

  @IsOptional()
  @IsIn(IMAGE_QUALITIES)
  quality?: (typeof IMAGE_QUALITIES)[number] | null;

  @IsOptional()
  @IsString()
  style?: string | null;

  @IsOptional()
  @IsIn(IMAGE_RESPONSE_FORMATS)
  response_format?: ImageResponseFormat | null;

  @IsOptional()
  @IsString()
  user?: string | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
