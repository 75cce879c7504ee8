import { Equals, IsBoolean, IsObject, IsOptional, IsString, Matches } from 'class-validator';
import { NestedObject } from '../../core/validation/nested';
import { FUNCTION_NAME } from '../../contract/patterns';

export class TextFormatDto {
  @Equals('text')
  type!: 'text';
}

export class JsonObjectFormatDto {
  @Equals('json_object')
  type!: 'json_object';
}

export class JsonSchemaDto {
  @Matches(FUNCTION_NAME, { message: '$property must be 1 to 64 letters, digits, underscores or dashes' })
  name!: string;

  @IsOptional()
  @IsString()
  description?: string | null;

  @IsOptional()
  @IsObject()
  schema?: Record<string, unknown> | null;

  @IsOptional()
  @IsBoolean()
  strict?: boolean | null;
}

export class JsonSchemaFormatDto {
  @Equals('json_schema')
  type!: 'json_schema';

  @NestedObject(JsonSchemaDto)
  json_schema!: JsonSchemaDto;
}

export const RESPONSE_FORMATS = {
  text: TextFormatDto,
  json_object: JsonObjectFormatDto,
  json_schema: JsonSchemaFormatDto,
};
