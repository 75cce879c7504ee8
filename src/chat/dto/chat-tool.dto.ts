import { Equals, IsBoolean, IsIn, IsObject, IsOptional, IsString, Matches } from 'class-validator';
import { NestedObject, NestedVariants } from '../../core/validation/nested';
import { FUNCTION_NAME } from '../../contract/patterns';

const NAME_RULE = { message: '$property must be 1 to 64 letters, digits, underscores or dashes' };

export class FunctionDefinitionDto {
  @Matches(FUNCTION_NAME, NAME_RULE)
  name!: string;

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

export class FunctionToolDto {
  @Equals('function')
  type!: 'function';

  @NestedObject(FunctionDefinitionDto)
  function!: FunctionDefinitionDto;
}

export class CustomDefinitionDto {
  @Matches(FUNCTION_NAME, NAME_RULE)
  name!: string;

  @IsOptional()
  @IsString()
  description?: string | null;

  @IsOptional()
  @IsObject()
  format?: Record<string, unknown> | null;
}

/** A tool whose input is plain text instead of JSON. */
export class CustomToolDto {
  @Equals('custom')
  type!: 'custom';

  @NestedObject(CustomDefinitionDto)
  custom!: CustomDefinitionDto;
}

/** Tools run by the client; provider-run tools are not supported. */
export const TOOLS = { function: FunctionToolDto, custom: CustomToolDto };

export class FunctionReferenceDto {
  @Matches(FUNCTION_NAME, NAME_RULE)
  name!: string;
}

export class NamedToolChoiceDto {
  @Equals('function')
  type!: 'function';

  @NestedObject(FunctionReferenceDto)
  function!: FunctionReferenceDto;
}

export class NamedCustomToolChoiceDto {
  @Equals('custom')
  type!: 'custom';

  @NestedObject(FunctionReferenceDto)
  custom!: FunctionReferenceDto;
}

const NAMED_TOOLS = { function: NamedToolChoiceDto, custom: NamedCustomToolChoiceDto };

export class AllowedToolsDto {
  @IsIn(['auto', 'required'])
  mode!: 'auto' | 'required';

  @NestedVariants('type', NAMED_TOOLS)
  tools!: (NamedToolChoiceDto | NamedCustomToolChoiceDto)[];
}

export class AllowedToolsChoiceDto {
  @Equals('allowed_tools')
  type!: 'allowed_tools';

  @NestedObject(AllowedToolsDto)
  allowed_tools!: AllowedToolsDto;
}

export const TOOL_CHOICE_WORDS = ['none', 'auto', 'required'] as const;
export const TOOL_CHOICES = { ...NAMED_TOOLS, allowed_tools: AllowedToolsChoiceDto };
export const FUNCTION_CALL_WORDS = ['none', 'auto'] as const;

export class CalledFunctionDto {
  @IsString()
  name!: string;

  @IsString()
  arguments!: string;
}

export class FunctionToolCallDto {
  @IsString()
  id!: string;

  @Equals('function')
  type!: 'function';

  @NestedObject(CalledFunctionDto)
  function!: CalledFunctionDto;
}

export class CalledCustomToolDto {
  @IsString()
  name!: string;

  @IsString()
  input!: string;
}

export class CustomToolCallDto {
  @IsString()
  id!: string;

  @Equals('custom')
  type!: 'custom';

  @NestedObject(CalledCustomToolDto)
  custom!: CalledCustomToolDto;
}

export const TOOL_CALLS = { function: FunctionToolCallDto, custom: CustomToolCallDto };
