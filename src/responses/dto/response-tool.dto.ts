import { IsBoolean, IsObject, IsOptional, IsString } from 'class-validator';

/** A function or custom tool; other types are ignored. */
export class ResponseToolDto {
  @IsString()
  type!: string;

  @IsOptional()
  @IsString()
  name?: string | null;

  @IsOptional()
  @IsString()
  description?: string | null;

  @IsOptional()
  @IsObject()
  parameters?: Record<string, unknown> | null;

  @IsOptional()
  @IsBoolean()
  strict?: boolean | null;
}
