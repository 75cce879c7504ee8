import type { ChatMessage } from '../providers/contract/chat';
import type { ResponseInputItemDto } from './dto/response-input-item.dto';
import type { ResponseRequestDto } from './dto/response-request.dto';

/** Where in the request a chat message comes from. */
export interface MessageOrigin {
  /** `instructions`, `input`, or one of its items. */
  readonly path: string;
  /** For each of the message's tool calls, the index of the item that it was. */
  readonly callItems: number[];
}

export interface ChatMessages {
  readonly messages: readonly ChatMessage[];
  /** One for each message. */
  readonly origins: readonly MessageOrigin[];
}

type Part = Readonly<Record<string, unknown>>;

interface AssistantTurn extends ChatMessage {
  content?: unknown;
  tool_calls?: unknown[];
}

/** What a message of a chat has besides role and content. */
const CHAT_FIELDS = ['name', 'refusal', 'tool_calls', 'tool_call_id'] as const;

/**
 * The conversation of a request, as chat has it. Nothing is checked: what an item lacks, its message lacks.
 *
 * A chat message holds what one turn of the model gave, and its results must follow at once; in a request, text and
 * calls of a turn are items of their own. So calls join the text before them, and text joins the calls before it.
 */
export function toChatMessages({ instructions, input }: ResponseRequestDto): ChatMessages {
  const conversation = new Conversation();
  if (instructions) conversation.add({ role: 'system', content: instructions }, 'instructions');
  if (typeof input === 'string') conversation.add({ role: 'user', content: input }, 'input');
  else input.forEach((item, index) => conversation.addItem(item, index));
  return conversation;
}

class Conversation implements ChatMessages {
  readonly messages: ChatMessage[] = [];
  readonly origins: MessageOrigin[] = [];
  /** The turn of the model that the next item may still belong to. */
  private turn: AssistantTurn | null = null;

  add(message: ChatMessage, path: string): void {
    this.messages.push(message);
    this.origins.push({ path, callItems: [] });
  }

  addItem(item: ResponseInputItemDto, index: number): void {
    const path = `input[${index}]`;
    switch (item.type ?? 'message') {
      case 'message':
        this.addMessage(toMessage(item), path);
        break;
      case 'function_call':
        this.addCall(item, index);
        break;
      case 'function_call_output':
        this.turn = null;
        this.add({ role: 'tool', tool_call_id: item.call_id, content: toContent(item.output) }, path);
        break;
    }
  }

  private addMessage(message: AssistantTurn, path: string): void {
    const isTurn = message.role === 'assistant';
    if (isTurn && this.turn?.content === null && message.tool_calls === undefined) {
      this.turn.content = message.content;
      return;
    }
    this.add(message, path);
    this.turn = isTurn && message.tool_calls === undefined ? message : null;
  }

  private addCall({ call_id: id, name, arguments: text }: ResponseInputItemDto, index: number): void {
    if (this.turn === null) {
      this.turn = { role: 'assistant', content: null };
      this.add(this.turn, `input[${index}]`);
    }
    const { turn } = this;
    turn.tool_calls ??= [];
    turn.tool_calls.push({ id, type: 'function', function: { name, arguments: text } });
    this.origins.at(-1)?.callItems.push(index);
  }
}

function toMessage(item: ResponseInputItemDto): AssistantTurn {
  const fields = item as Part;
  const message: Record<string, unknown> = { role: item.role, content: toContent(item.content) };
  for (const field of CHAT_FIELDS) {
    if (fields[field] != null) message[field] = fields[field];
  }
  return message as AssistantTurn;
}

/** Text stays text, and a single part of text becomes it: many upstreams take lists of parts from users only. */
function toContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? undefined;
  const parts = content.map((part: unknown) => (isPart(part) ? toChatPart(part) : part));
  const [first] = parts;
  return parts.length === 1 && isPart(first) && first['type'] === 'text' ? first['text'] : parts;
}

/** Parts of chat, which are taken too, stay as they are; so do unknown ones, which chat refuses. */
function toChatPart(part: Part): Part {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part['text'] };
    case 'input_image': {
      const { image_url: url, detail } = part;
      return { type: 'image_url', image_url: detail == null ? { url } : { url, detail } };
    }
    case 'input_file': {
      const { filename, file_data } = part;
      return { type: 'file', file: filename == null ? { file_data } : { filename, file_data } };
    }
    default:
      return part;
  }
}

function isPart(part: unknown): part is Part {
  return typeof part === 'object' && part !== null;
}
