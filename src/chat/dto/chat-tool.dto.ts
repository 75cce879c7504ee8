import { Equals, IsBoolean, IsIn, IsObject, IsOptional, IsString, Matches } from 'class-validator';
import { NestedObject, NestedVariants } from '../../common/validation/nested';
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
  @Equals('function', { message: '$property must be function: tools that a provider runs itself are not offered' })
  type!: 'function';

  @NestedObject(FunctionDefinitionDto)
  function!: FunctionDefinitionDto;
}

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

export class AllowedToolsDto {
  @IsIn(['auto', 'required'])
  mode!: 'auto' | 'required';

  @NestedVariants('type', { function: NamedToolChoiceDto })
  tools!: NamedToolChoiceDto[];
}

export class AllowedToolsChoiceDto {
  @Equals('allowed_tools')
  type!: 'allowed_tools';

  @NestedObject(AllowedToolsDto)
  allowed_tools!: AllowedToolsDto;
}

export const TOOL_CHOICE_WORDS = ['none', 'auto', 'required'] as const;
export const TOOL_CHOICES = { function: NamedToolChoiceDto, allowed_tools: AllowedToolsChoiceDto };
export const FUNCTION_CALL_WORDS = ['none', 'auto'] as const;

export class CalledFunctionDto {
  @IsString()
  name!: string;

  @IsString()
  arguments!: string;
}

export class ToolCallDto {
  @IsString()
  id!: string;

  @Equals('function')
  type!: 'function';

  @NestedObject(CalledFunctionDto)
  function!: CalledFunctionDto;
}
