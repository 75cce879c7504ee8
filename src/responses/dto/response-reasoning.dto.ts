import { IsIn, IsOptional } from 'class-validator';
import { REASONING_EFFORTS } from '../../chat/dto/chat-completion-request.dto';

export class ResponseReasoningDto {
  @IsOptional()
  @IsIn(REASONING_EFFORTS)
  effort?: (typeof REASONING_EFFORTS)[number] | null;
}
