import { ArrayNotEmpty, Equals, IsOptional, IsString } from 'class-validator';
import { NestedObject, NestedVariants, UnlessNull, UnlessString } from '../../core/validation/nested';
import { CalledFunctionDto, TOOL_CALLS, type CustomToolCallDto, type FunctionToolCallDto } from './chat-tool.dto';
import {
  ASSISTANT_PARTS,
  TEXT_PARTS,
  USER_PARTS,
  type FilePartDto,
  type ImagePartDto,
  type InputAudioPartDto,
  type RefusalPartDto,
  type TextPartDto,
} from './content-part.dto';

export class DeveloperMessageDto {
  @Equals('developer')
  role!: 'developer';

  @UnlessString()
  @NestedVariants('type', TEXT_PARTS)
  @ArrayNotEmpty()
  content!: string | TextPartDto[];

  @IsOptional()
  @IsString()
  name?: string | null;
}

export class SystemMessageDto {
  @Equals('system')
  role!: 'system';

  @UnlessString()
  @NestedVariants('type', TEXT_PARTS)
  @ArrayNotEmpty()
  content!: string | TextPartDto[];

  @IsOptional()
  @IsString()
  name?: string | null;
}

export class UserMessageDto {
  @Equals('user')
  role!: 'user';

  @UnlessString()
  @NestedVariants('type', USER_PARTS)
  @ArrayNotEmpty()
  content!: string | (TextPartDto | ImagePartDto | InputAudioPartDto | FilePartDto)[];

  @IsOptional()
  @IsString()
  name?: string | null;
}

export class EarlierAudioDto {
  @IsString()
  id!: string;
}

export class AssistantMessageDto {
  @Equals('assistant')
  role!: 'assistant';

  @IsOptional()
  @UnlessString()
  @NestedVariants('type', ASSISTANT_PARTS)
  @ArrayNotEmpty()
  content?: string | (TextPartDto | RefusalPartDto)[] | null;

  @IsOptional()
  @IsString()
  refusal?: string | null;

  @IsOptional()
  @IsString()
  name?: string | null;

  @IsOptional()
  @IsString()
  reasoning_content?: string | null;

  @IsOptional()
  @NestedObject(EarlierAudioDto)
  audio?: EarlierAudioDto | null;

  @IsOptional()
  @NestedVariants('type', TOOL_CALLS)
  tool_calls?: (FunctionToolCallDto | CustomToolCallDto)[] | null;

  @IsOptional()
  @NestedObject(CalledFunctionDto)
  function_call?: CalledFunctionDto | null;
}

export class ToolMessageDto {
  @Equals('tool')
  role!: 'tool';

  @UnlessString()
  @NestedVariants('type', TEXT_PARTS)
  @ArrayNotEmpty()
  content!: string | TextPartDto[];

  @IsString()
  tool_call_id!: string;
}

export class FunctionMessageDto {
  @Equals('function')
  role!: 'function';

  @UnlessNull()
  @IsString()
  content!: string | null;

  @IsString()
  name!: string;
}

export type ChatMessageDto =
  DeveloperMessageDto | SystemMessageDto | UserMessageDto | AssistantMessageDto | ToolMessageDto | FunctionMessageDto;

export const MESSAGE_ROLES = {
  developer: DeveloperMessageDto,
  system: SystemMessageDto,
  user: UserMessageDto,
  assistant: AssistantMessageDto,
  tool: ToolMessageDto,
  function: FunctionMessageDto,
};
