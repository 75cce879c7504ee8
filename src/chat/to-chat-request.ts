import { providerFields } from '../inference/inference-target';
import type { ChatRequest } from '../providers/contract/chat';
import type { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';

/** The validated body as sent to providers. */
export function toChatRequest(body: ChatCompletionRequestDto): ChatRequest {
  return providerFields(body) as unknown as ChatRequest;
}
