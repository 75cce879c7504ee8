import { providerFields } from '../inference/provider-fields';
import type { CompletionRequest } from '../providers/contract/completions';
import type { CompletionRequestDto } from './dto/completion-request.dto';

/** Tokens of output unless the request says otherwise: the default of the format. */
const DEFAULT_MAX_TOKENS = 16;

/** The validated body as providers see it, its defaults filled in. */
export function toCompletionRequest(body: CompletionRequestDto): CompletionRequest {
  const { prompt, max_tokens: maxTokens } = body;
  return {
    ...providerFields(body),
    prompt: typeof prompt === 'string' ? prompt : (prompt[0] ?? ''),
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
  };
}
