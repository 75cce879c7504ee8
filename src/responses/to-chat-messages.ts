import type { ChatMessage } from '../providers/contract/chat';
import type { ResponseInputItemDto, ResponseRequestDto } from './dto/response-request.dto';

/** The origin of a chat message in the request. */
export interface MessageOrigin {
  /** Path of `instructions`, `input`, or one of its items. */
  readonly path: string;
  /** The item index of each tool call of the message. */
  readonly callItems: number[];
  /** Paths of its parts, if not the content of one item; `undefined` for parts added by the gateway. */
  readonly partPaths?: readonly (string | undefined)[];
}

export interface ChatMessages {
  readonly messages: readonly ChatMessage[];
  /** One per message. */
  readonly origins: readonly MessageOrigin[];
}

type Part = Readonly<Record<string, unknown>>;

interface PlacedPart {
  readonly part: unknown;
  /** Path in the request; absent for parts added by the gateway. */
  readonly path?: string;
}

/** Content of a tool result with only images, which follow in a user message. */
const IMAGES_ONLY = 'The result is shown in the next message.';

interface AssistantTurn extends ChatMessage {
  content?: unknown;
  tool_calls?: unknown[];
}

/** Fields of a chat message besides role and content. */
const CHAT_FIELDS = ['name', 'refusal', 'tool_calls', 'tool_call_id'] as const;

/**
 * Converts the conversation of a request to chat messages, without validation: missing fields stay missing.
 *
 * In chat, one message holds the text and calls of a model turn, and the tool results must follow directly; in a
 * request they are separate items. So calls join the text before them, and text joins the calls before it.
 */
export function toChatMessages({ instructions, input }: ResponseRequestDto): ChatMessages {
  const conversation = new Conversation();
  if (instructions) conversation.add({ role: 'system', content: instructions }, 'instructions');
  if (typeof input === 'string') conversation.add({ role: 'user', content: input }, 'input');
  else input.forEach((item, index) => conversation.addItem(item, index));
  conversation.showImages();
  return conversation;
}

class Conversation implements ChatMessages {
  readonly messages: ChatMessage[] = [];
  readonly origins: MessageOrigin[] = [];
  /** The model turn that the next item may belong to. */
  private turn: AssistantTurn | null = null;
  /** Images in the tool results since the last turn. */
  private images: PlacedPart[] = [];

  add(message: ChatMessage, path: string, partPaths?: readonly (string | undefined)[]): void {
    if (message.role !== 'tool') this.showImages();
    this.messages.push(message);
    this.origins.push({ path, callItems: [], ...(partPaths && { partPaths }) });
  }

  /**
   * Tool results in chat are text only. Their images follow in a user message after all results of the turn, because
   * nothing may come between a call and its result.
   */
  showImages(): void {
    const { images } = this;
    if (images.length === 0) return;
    this.images = [];
    const content = images.map(({ part }) => part);
    this.add(
      { role: 'user', content },
      'input',
      images.map(({ path }) => path),
    );
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
      case 'custom_tool_call':
        this.addCall(item, index);
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.addResult(item, path);
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

  private addResult({ call_id: id, output }: ResponseInputItemDto, path: string): void {
    this.turn = null;
    const parts = Array.isArray(output) ? placedParts(output, `${path}.output`) : [];
    const images = parts.filter(({ part }) => isImage(part));
    if (images.length === 0) {
      this.add({ role: 'tool', tool_call_id: id, content: toContent(output) }, path);
      return;
    }
    const others = parts.filter(({ part }) => !isImage(part));
    const content = others.length === 0 ? IMAGES_ONLY : asText(others.map(({ part }) => part));
    const partPaths = others.map((other) => other.path);
    this.add({ role: 'tool', tool_call_id: id, content }, path, partPaths);
    this.images.push({ part: { type: 'text', text: `Images in the result of tool call ${id}:` } }, ...images);
  }

  private addCall(item: ResponseInputItemDto, index: number): void {
    if (this.turn === null) {
      this.turn = { role: 'assistant', content: null };
      this.add(this.turn, `input[${index}]`);
    }
    const { turn } = this;
    turn.tool_calls ??= [];
    turn.tool_calls.push(toChatCall(item));
    this.origins.at(-1)?.callItems.push(index);
  }
}

/** Whether items of this type are tool results. */
export function isCallOutput(type: unknown): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output';
}

function toChatCall(item: ResponseInputItemDto): object {
  const { type, call_id: id, name, arguments: text } = item;
  if (type !== 'custom_tool_call') return { id, type: 'function', function: { name, arguments: text } };
  return { id, type: 'custom', custom: { name, input: (item as { readonly input?: unknown }).input } };
}

function placedParts(parts: readonly unknown[], path: string): PlacedPart[] {
  return parts.map((part, index) => ({ part: isPart(part) ? toChatPart(part) : part, path: `${path}[${index}]` }));
}

function isImage(part: unknown): boolean {
  return isPart(part) && part['type'] === 'image_url';
}

function toMessage(item: ResponseInputItemDto): AssistantTurn {
  const fields = item as Part;
  const message: Record<string, unknown> = { role: item.role, content: toContent(item.content) };
  for (const field of CHAT_FIELDS) {
    if (fields[field] != null) message[field] = fields[field];
  }
  return message as AssistantTurn;
}

/** Converts a single text part to a string: many upstreams accept lists of parts in user messages only. */
function toContent(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? undefined;
  return asText(content.map((part: unknown) => (isPart(part) ? toChatPart(part) : part)));
}

function asText(parts: readonly unknown[]): unknown {
  const [first] = parts;
  if (parts.length > 1 || !isPart(first) || first['type'] !== 'text') return parts;
  // Anything but a string stays a part, so that validation reports it.
  return typeof first['text'] === 'string' ? first['text'] : parts;
}

/** Chat parts stay unchanged, because they are accepted too; so do unknown parts, which chat validation rejects. */
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
