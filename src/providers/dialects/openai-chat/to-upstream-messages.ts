import type { ChatMessage } from '../../contract/chat';
import type { Quirks } from '../../contract/provider-call';

/** The conversation in the upstream's format. Messages that need no change are shared, not copied. */
export function toUpstreamMessages(messages: readonly ChatMessage[], quirks: Quirks): readonly ChatMessage[] {
  return messages.some((message) => needsChange(message, quirks))
    ? messages.map((message) => (needsChange(message, quirks) ? toUpstreamMessage(message, quirks) : message))
    : messages;
}

function needsChange(message: ChatMessage, quirks: Quirks): boolean {
  return (
    (message.role === 'developer' && quirks.developerRole !== true) ||
    (message['reasoning_content'] !== undefined && quirks.reasoningReplay !== true) ||
    hasEmptyTextBesideToolCalls(message)
  );
}

function toUpstreamMessage(message: ChatMessage, quirks: Quirks): ChatMessage {
  const { reasoning_content: reasoning, ...rest } = message;
  return {
    ...rest,
    ...(quirks.reasoningReplay === true && reasoning !== undefined && { reasoning_content: reasoning }),
    role: message.role === 'developer' && quirks.developerRole !== true ? 'system' : message.role,
    ...(hasEmptyTextBesideToolCalls(message) && { content: null }),
  };
}

/** Clients write `''` where the format has null; some upstreams refuse empty text. */
function hasEmptyTextBesideToolCalls({ role, content, tool_calls: toolCalls }: ChatMessage): boolean {
  return role === 'assistant' && content === '' && Array.isArray(toolCalls) && toolCalls.length > 0;
}
