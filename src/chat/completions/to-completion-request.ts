import { providerFields } from '../../inference/inference-target';
import type { CompletionRequest } from '../../providers/contract/completions';
import type { CompletionRequestDto } from './dto/completion-request.dto';

/** Default output limit of the format. */
const DEFAULT_MAX_TOKENS = 16;

/** The validated body as sent to providers, with defaults. */
export function toCompletionRequest(body: CompletionRequestDto): CompletionRequest {
  const { prompt, max_tokens: maxTokens } = body;
  return {
    ...providerFields(body),
    prompt: typeof prompt === 'string' ? prompt : (prompt[0] ?? ''),
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
  };
}
