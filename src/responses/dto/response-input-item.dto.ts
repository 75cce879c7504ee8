import { IsArray, IsObject, IsOptional, IsString } from 'class-validator';
import { UnlessString } from '../../common/validation/nested';

/**
 * What every item of `input` may have. Which of it an item must have depends on its type, and is asked when the item is
 * translated: items of types that are not known here must pass, whatever they hold.
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
