import type { ChatRequest } from '../../providers/contract/chat';
import type { CompletionRequest } from '../../providers/contract/completions';
import { ProviderError } from '../../providers/contract/provider-error';

/** Completions-only fields, and chat fields whose result a completion cannot represent. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'prompt',
  'echo',
  'suffix',
  'logprobs',
  'best_of',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'modalities',
  'audio',
]);

/**
 * Converts a completion to a chat with one message.
 * @throws ProviderError `validation_failed` with `param` for fields that chat does not support, before sending
 */
export function toChatRequest(request: CompletionRequest): ChatRequest {
  const { prompt, suffix, echo, logprobs, max_tokens: maxTokens } = request;
  if (suffix != null && suffix !== '') throw unsupported('suffix', 'suffix');
  if (maxTokens === 0) throw unsupported('max_tokens', 'max_tokens 0');
  if (echo === true && logprobs != null) throw unsupported('logprobs', 'logprobs of the prompt');
  const fields = Object.fromEntries(Object.entries(request).filter(([field]) => !LEFT_OUT.has(field)));
  return {
    ...fields,
    model: request.model,
    messages: [{ role: 'user', content: prompt }],
    ...(logprobs != null && { logprobs: true, top_logprobs: logprobs }),
  };
}

function unsupported(param: string, what: string): ProviderError {
  const message = `This model only supports chat, which has no ${what}.`;
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param });
}
