import type { ChatRequest } from '../providers/contract/chat';
import type { ChatCompletionRequestDto } from './dto/chat-completion-request.dto';

/**
 * Whether a field stays here: what is for the gateway alone never reaches a provider (contract section 1, decision
 * *unknown-fields*), and null means the same as absent, which not every upstream knows.
 */
function staysHere(field: string, value: unknown): boolean {
  return value === null || field === 'routing' || field.startsWith('x_');
}

/** The validated body as providers see it. Copied only when there is something to leave out. */
export function toChatRequest(body: ChatCompletionRequestDto): ChatRequest {
  const fields = body as unknown as ChatRequest;
  for (const field in fields) {
    if (staysHere(field, fields[field])) {
      return Object.fromEntries(
        Object.entries(fields).filter(([name, value]) => !staysHere(name, value)),
      ) as ChatRequest;
    }
  }
  return fields;
}
