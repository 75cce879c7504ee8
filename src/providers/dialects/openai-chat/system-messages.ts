import type { ChatMessage } from '../../contract/chat';
import { joinedText } from './chat-messages';

/**
 * The conversation with one system message, at the beginning: leading instructions are joined, later ones become a user
 * message that marks them.
 */
export function withOneSystemMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const end = messages.findIndex((message) => !isInstruction(message));
  const leading = end < 0 ? messages : messages.slice(0, end);
  const rest = end < 0 ? [] : messages.slice(end);
  if (leading.length < 2 && !rest.some(isInstruction)) return messages;
  return [
    ...(leading.length < 2 ? leading : [{ role: 'system', content: leading.map(textOf).join('\n\n') }]),
    ...rest.map((message) =>
      isInstruction(message) ? { role: 'user', content: `<system>${textOf(message)}</system>` } : message,
    ),
  ];
}

function isInstruction({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** Instructions are texts only. */
function textOf({ content }: ChatMessage): string {
  const text = joinedText(content);
  return typeof text === 'string' ? text : '';
}
