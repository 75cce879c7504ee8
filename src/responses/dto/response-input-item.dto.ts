import { IsArray, IsObject, IsOptional, IsString } from 'class-validator';
import { UnlessString } from '../../core/validation/nested';

/**
 * Fields of the items of `input`. Required fields depend on the type and are checked in translation: items of unknown types
 * must pass with any content.
 */
export class ResponseInputItemDto {
  @IsOptional()
  @IsString()
  type?: string | null;

  @IsOptional()
  @IsString()
  role?: string | null;

  @IsOptional()
  @UnlessString()
  @IsArray({ message: '$property must be a string or an array of parts' })
  @IsObject({ each: true })
  content?: string | Record<string, unknown>[] | null;

  @IsOptional()
  @IsString()
  call_id?: string | null;

  @IsOptional()
  @IsString()
  name?: string | null;

  arguments?: unknown;

  output?: unknown;
}
