import type { ChatMessage, ChatRequest } from '../../contract/chat';
import { hashText } from './random';
import { readScript, type Script } from './script';
import { headOf, tailOf } from './tokens';

/** The parts of a request's messages that the mock uses. */
export interface Conversation {
  readonly script: Script;
  /** The last user message: without directives, white space collapsed, the middle of a long one omitted. */
  readonly prompt: string;
  /** Text of the system or developer messages, truncated when long. */
  readonly instructions: string;
  /** Attachments of the prompt, for example `['an image']`. */
  readonly attachments: readonly string[];
  /** Not empty when the conversation ends with results of tools. */
  readonly toolResults: readonly ToolResult[];
  /** Equal for equal messages. */
  readonly seed: number;
  readonly promptTokens: number;
}

export interface ToolResult {
  readonly name: string;
  readonly text: string;
}

const TOKENS_PER_BYTE = 0.25;
const IMAGE_TOKENS = 85;
/** Characters read of a long text, from its start and its end. */
const READ_LENGTH = 2000;
const READ_TAIL_LENGTH = 500;
/** Hashing both ends of a message is enough to distinguish requests, and costs the same for a huge one. */
const HASHED_LENGTH = 1024;

const ATTACHMENTS: ReadonlyMap<unknown, string> = new Map([
  ['image_url', 'an image'],
  ['input_audio', 'a recording'],
  ['file', 'a file'],
]);

/** @throws ProviderError `validation_failed` for a directive that the mock does not know. */
export function readConversation(request: ChatRequest): Conversation {
  const { messages } = request;
  let seed = typeof request.seed === 'number' ? request.seed >>> 0 : undefined;
  let bytes = request.tools ? Buffer.byteLength(JSON.stringify(request.tools)) : 0;
  let images = 0;
  let lastUserIndex = -1;
  let instructions = '';
  for (const [index, message] of messages.entries()) {
    const text = textOf(message);
    bytes += Buffer.byteLength(text);
    seed = hashText(tailOf(text, HASHED_LENGTH), hashText(headOf(text, HASHED_LENGTH), seed));
    if (message.tool_calls) {
      bytes += Buffer.byteLength(JSON.stringify(message.tool_calls));
    }
    if (Array.isArray(message.content)) {
      images += partsOf(message).filter((part) => part.type === 'image_url').length;
    }
    if (message.role === 'system' || message.role === 'developer') {
      instructions = headOf(`${instructions} ${text}`, READ_LENGTH);
    }
    if (message.role === 'user') {
      lastUserIndex = index;
    }
  }
  const user = messages[lastUserIndex];
  const { script, text } = readScript(user ? textOf(user) : '', `messages[${lastUserIndex}].content`);
  return {
    script,
    prompt: collapse(text),
    instructions,
    attachments: user ? attachmentsOf(user) : [],
    toolResults: trailingToolResults(messages),
    seed: seed ?? 0,
    promptTokens: Math.max(1, Math.ceil(bytes * TOKENS_PER_BYTE) + images * IMAGE_TOKENS),
  };
}

function textOf(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') {
    return content;
  }
  return partsOf(message)
    .flatMap(({ text }) => (typeof text === 'string' ? text : []))
    .join(' ');
}

function partsOf(message: ChatMessage): readonly Record<string, unknown>[] {
  return Array.isArray(message.content) ? message.content : [];
}

function attachmentsOf(message: ChatMessage): string[] {
  return partsOf(message).flatMap((part) => ATTACHMENTS.get(part.type) ?? []);
}

function collapse(text: string): string {
  const bounded =
    text.length <= READ_LENGTH
      ? text
      : `${headOf(text, READ_LENGTH - READ_TAIL_LENGTH)} … ${tailOf(text, READ_TAIL_LENGTH)}`;
  return bounded.replace(/\s+/g, ' ').trim();
}

/** Results after the last assistant message, each with the name of the called function. */
function trailingToolResults(messages: readonly ChatMessage[]): ToolResult[] {
  let first = messages.length;
  while (first > 0 && messages[first - 1]?.role === 'tool') {
    first -= 1;
  }
  if (first === messages.length) {
    return [];
  }
  const names = calledNames(messages[first - 1]);
  return messages.slice(first).map((message) => ({
    name: names.get(message.tool_call_id) ?? 'The tool',
    text: collapse(textOf(message)),
  }));
}

function calledNames(message: ChatMessage | undefined): Map<unknown, string> {
  const names = new Map<unknown, string>();
  const calls: readonly Record<string, unknown>[] = Array.isArray(message?.tool_calls) ? message.tool_calls : [];
  for (const call of calls) {
    const called = call.function as { readonly name?: unknown } | undefined;
    if (typeof called?.name === 'string') {
      names.set(call.id, called.name);
    }
  }
  return names;
}
