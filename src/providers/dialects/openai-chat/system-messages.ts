import type { ChatMessage } from '../../contract/chat';
import { joinedText } from './chat-messages';

/** Says nothing, but is not empty, since Mistral refuses empty messages. */
const NOTED: ChatMessage = { role: 'assistant', content: 'OK.' };

/**
 * The conversation with one system message, at the beginning: leading instructions are joined, later ones become marked
 * user messages.
 */
export function withOneSystemMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const end = messages.findIndex((message) => !isInstruction(message));
  const leading = end < 0 ? messages : messages.slice(0, end);
  const rest = end < 0 ? [] : messages.slice(end);
  if (leading.length < 2 && !rest.some(isInstruction)) return messages;
  return [
    ...(leading.length < 2 ? leading : [{ role: 'system', content: leading.map(textOf).join('\n\n') }]),
    ...rest.map((message) => (isInstruction(message) ? asMarked(message) : message)),
  ];
}

/**
 * The conversation in the order of roles that Mistral requires: instructions after answers and tool results become
 * marked user messages, an answer is inserted between tool results and the next user message, and a final answer
 * without tool calls is marked as one to continue.
 */
export function inStrictOrder(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const ordered: ChatMessage[] = [];
  for (const message of messages) {
    const previous = ordered.at(-1)?.role;
    const isLate = isInstruction(message) && (previous === 'assistant' || previous === 'tool');
    const next = isLate ? asMarked(message) : message;
    if (previous === 'tool' && next.role === 'user') ordered.push(NOTED);
    ordered.push(next);
  }
  const last = ordered.at(-1);
  if (last?.role === 'assistant' && !hasCalls(last)) ordered.splice(-1, 1, { ...last, prefix: true });
  return ordered;
}

function hasCalls({ tool_calls: calls }: ChatMessage): boolean {
  return Array.isArray(calls) && calls.length > 0;
}

function asMarked(instruction: ChatMessage): ChatMessage {
  return { role: 'user', content: `<system>${textOf(instruction)}</system>` };
}

function isInstruction({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** Instructions are texts only. */
function textOf({ content }: ChatMessage): string {
  const text = joinedText(content);
  return typeof text === 'string' ? text : '';
}
