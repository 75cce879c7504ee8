import { IsIn, IsInt, IsOptional, IsString, MaxLength, Min, MinLength } from 'class-validator';
import { NestedObject } from '../../../core/validation/nested';
import { RoutingDto } from '../../../models/routing/routing.dto';
import { IsEmbeddingInput } from './embedding-input';

export const ENCODING_FORMATS = ['float', 'base64'] as const;
export type EncodingFormat = (typeof ENCODING_FORMATS)[number];

/**
 * Body of `POST /v1/embeddings`: the document's `EmbeddingRequest`. Null means absent. Undeclared fields are passed to
 * the provider.
 */
export class EmbeddingRequestDto {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  model!: string;

  @IsEmbeddingInput()
  input!: string | string[] | number[] | number[][];

  @IsOptional()
  @IsIn(ENCODING_FORMATS)
  encoding_format?: EncodingFormat | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  dimensions?: number | null;

  @IsOptional()
  @IsString()
  user?: string | null;

  @IsOptional()
  @NestedObject(RoutingDto, { closed: true })
  routing?: RoutingDto | null;
}
