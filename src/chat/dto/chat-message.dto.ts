import { ArrayNotEmpty, Equals, IsIn, IsOptional, IsString, Matches } from 'class-validator';
import { IMAGE_ADDRESS, INLINE_DATA } from '../../contract/patterns';
import { NestedObject, NestedVariants, UnlessNull } from '../../core/validation/nested';
import { CalledFunctionDto, type CustomToolCallDto, type FunctionToolCallDto, TOOL_CALLS } from './chat-tool.dto';

export class TextPartDto {
  @Equals('text')
  type!: 'text';

  @IsString()
  text!: string;
}

export class ImageUrlDto {
  @Matches(IMAGE_ADDRESS, { message: '$property must be an https or data URL' })
  url!: string;

  @IsOptional()
  @IsString()
  detail?: string | null;
}

export class ImagePartDto {
  @Equals('image_url')
  type!: 'image_url';

  @NestedObject(ImageUrlDto)
  image_url!: ImageUrlDto;
}

export class InputAudioDto {
  @Matches(INLINE_DATA, { message: '$property must be base64 or a data URL' })
  data!: string;

  @IsIn(['wav', 'mp3'])
  format!: 'wav' | 'mp3';
}

export class InputAudioPartDto {
  @Equals('input_audio')
  type!: 'input_audio';

  @NestedObject(InputAudioDto)
  input_audio!: InputAudioDto;
}

/** Rejects unknown fields: a `file_id` would refer to files in the operator's provider account. */
export class FileDto {
  @IsOptional()
  @IsString()
  filename?: string | null;

  @Matches(INLINE_DATA, { message: '$property must be base64 or a data URL' })
  file_data!: string;
}

export class FilePartDto {
  @Equals('file')
  type!: 'file';

  @NestedObject(FileDto, { closed: true })
  file!: FileDto;
}

export class RefusalPartDto {
  @Equals('refusal')
  type!: 'refusal';

  @IsString()
  refusal!: string;
}

export const TEXT_PARTS = { text: TextPartDto };
const USER_PARTS = {
  text: TextPartDto,
  image_url: ImagePartDto,
  input_audio: InputAudioPartDto,
  file: FilePartDto,
};
const ASSISTANT_PARTS = { text: TextPartDto, refusal: RefusalPartDto };

export class DeveloperMessageDto {
  @Equals('developer')
  role!: 'developer';

  @NestedVariants('type', TEXT_PARTS, { orString: true })
  @ArrayNotEmpty()
  content!: string | TextPartDto[];

  @IsOptional()
  @IsString()
  name?: string | null;
}

export class SystemMessageDto {
  @Equals('system')
  role!: 'system';

  @NestedVariants('type', TEXT_PARTS, { orString: true })
  @ArrayNotEmpty()
  content!: string | TextPartDto[];

  @IsOptional()
  @IsString()
  name?: string | null;
}

export class UserMessageDto {
  @Equals('user')
  role!: 'user';

  @NestedVariants('type', USER_PARTS, { orString: true })
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
  @NestedVariants('type', ASSISTANT_PARTS, { orString: true })
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

  @NestedVariants('type', TEXT_PARTS, { orString: true })
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
