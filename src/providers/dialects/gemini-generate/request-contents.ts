import type { ChatMessage } from '../../contract/chat';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';
import { toMediaPart } from './media-part';

export type Part = JsonObject;

/** One message of a conversation. */
export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: Part[];
}

export interface Conversation {
  /** Alternating between user and model; the first one is the user's. */
  readonly contents: readonly Content[];
  /** Texts of all system and developer messages. */
  readonly instructions: readonly string[];
}

export interface ContentOptions {
  /** Whether the upstream takes ids of tool calls. */
  readonly toolCallIds: boolean;
  /** Whether the model refuses tool calls of the current turn without a signature. */
  readonly needsSignatures: boolean;
  /** Thought signatures by tool call id. */
  readonly signatures: ReadonlyMap<string, string>;
}

/** Accepted in place of an unknown signature: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator';
/**
 * The upstream reads a response with such keys as a schema and refuses it: https://github.com/vercel/ai/issues/14369
 */
const SCHEMA_REFERENCE = /"\$(?:ref|defs)"/;

/** The numbers of a response are doubles at the upstream (`google.protobuf.Struct`), which keep 15 digits. */
const LONG_NUMBER = /\d(?:\.?\d){15}/;

/**
 * The conversation in the upstream's format. The position of system messages is lost, since the format has one
 * instruction for the whole conversation.
 * @throws ProviderError `validation_failed` with `param`
 */
export function toConversation(messages: readonly ChatMessage[], options: ContentOptions): Conversation {
  const turns = new Turns(options);
  messages.forEach((message, index) => turns.add(message, `messages[${index}]`));
  return turns.end();
}

/** A tool call of the last assistant message. */
interface PendingCall {
  readonly id: string;
  readonly name: string;
  response: JsonObject | null;
}

class Turns {
  private readonly contents: Content[] = [];
  private readonly instructions: string[] = [];
  /** Calls whose results are expected next, in order. */
  private pending: PendingCall[] = [];
  private pendingPath = '';

  constructor(private readonly options: ContentOptions) {}

  add(message: ChatMessage, path: string): void {
    switch (message.role) {
      case 'system':
      case 'developer':
        this.instructions.push(...textsOf(message.content, `${path}.content`));
        return;
      case 'tool':
        this.addResult(message, path);
        return;
      case 'user':
        this.flushResults();
        this.push('user', userParts(message.content, `${path}.content`));
        return;
      case 'assistant':
        this.flushResults();
        this.push('model', this.assistantParts(message, path));
        return;
      default:
        throw unsupported(`${path}.role`, 'This model does not support messages of the deprecated role function.');
    }
  }

  end(): Conversation {
    this.flushResults();
    const { contents, instructions } = this;
    // Without a user message, the instructions become the request.
    if (contents.length === 0) {
      if (instructions.length === 0)
        throw unsupported('messages', 'This model needs at least one message that is not empty.');
      return { contents: [{ role: 'user', parts: instructions.map((text) => ({ text })) }], instructions: [] };
    }
    // The first message must be the user's, but a client may start with a greeting of the assistant.
    if (contents[0]?.role === 'model') contents.unshift({ role: 'user', parts: [{ text: ' ' }] });
    return { contents, instructions };
  }

  /** Roles must alternate, so consecutive messages of one role are merged. */
  private push(role: Content['role'], parts: Part[]): void {
    if (parts.length === 0) return;
    const last = this.contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.contents.push({ role, parts });
  }

  private assistantParts(message: ChatMessage, path: string): Part[] {
    const { content, refusal, tool_calls: calls, function_call: legacyCall, audio } = message;
    if (legacyCall != null) throw unsupported(`${path}.function_call`);
    if (audio != null) throw unsupported(`${path}.audio`);
    const texts = content == null ? [] : textsOf(content, `${path}.content`);
    if (typeof refusal === 'string' && refusal !== '') texts.push(refusal);
    const parts: Part[] = texts.map((text) => ({ text }));
    if (Array.isArray(calls) && calls.length > 0) parts.push(...this.callParts(calls, path));
    return parts;
  }

  private callParts(calls: readonly unknown[], path: string): Part[] {
    const { toolCallIds, needsSignatures, signatures } = this.options;
    this.pendingPath = `${path}.tool_calls`;
    const parts = calls.map((call, index) => {
      const { id, name, args } = readCall(call, `${this.pendingPath}[${index}]`);
      this.pending.push({ id, name, response: null });
      const signature = signatures.get(id);
      return {
        functionCall: { ...(toolCallIds && { id }), name, args },
        ...(signature !== undefined && { thoughtSignature: signature }),
      };
    });
    const [first] = parts;
    if (needsSignatures && first !== undefined && !parts.some((part) => part.thoughtSignature !== undefined)) {
      first.thoughtSignature = NO_SIGNATURE;
    }
    return parts;
  }

  private addResult({ content, tool_call_id: id }: ChatMessage, path: string): void {
    const call = this.pending.find((pending) => pending.id === id);
    if (call === undefined || call.response !== null) {
      const message = 'A tool message needs a tool call with the same id in the assistant message before it.';
      throw unsupported(`${path}.tool_call_id`, message);
    }
    call.response = toResponse(textsOf(content, `${path}.content`).join(''));
  }

  /**
   * Writes the results of all calls as one message, in the order of the calls: some hosts match results by position.
   */
  private flushResults(): void {
    if (this.pending.length === 0) return;
    const parts = this.pending.map(({ id, name, response }, index) => {
      if (response === null) {
        const message = 'Every tool call needs a tool message with its result directly after the assistant message.';
        throw unsupported(`${this.pendingPath}[${index}]`, message);
      }
      return { functionResponse: { ...(this.options.toolCallIds && { id }), name, response } };
    });
    this.pending = [];
    this.push('user', parts);
  }
}

function readCall(call: unknown, path: string): { id: string; name: string; args: JsonObject } {
  const { id, function: called } = isJsonObject(call) ? call : {};
  if (typeof id !== 'string' || !isJsonObject(called) || typeof called['name'] !== 'string') {
    throw unsupported(path, 'This model supports calls of functions only.');
  }
  const { arguments: written } = called;
  const args = typeof written === 'string' ? parseJsonObject(written === '' ? '{}' : written) : null;
  if (args === null) {
    throw unsupported(`${path}.function.arguments`, 'Arguments of a tool call must be a JSON object for this model.');
  }
  return { id, name: called['name'], args };
}

/**
 * A response is always an object. Other text, and objects that would not arrive unchanged, go into the field that the
 * documentation suggests.
 */
function toResponse(text: string): JsonObject {
  const object = SCHEMA_REFERENCE.test(text) || LONG_NUMBER.test(text) ? null : parseJsonObject(text);
  return object ?? { output: text };
}

function userParts(content: unknown, path: string): Part[] {
  if (!Array.isArray(content)) return textsOf(content, path).map((text) => ({ text }));
  return content.flatMap((part: unknown, index): Part[] => {
    if (!isJsonObject(part)) throw unsupported(`${path}[${index}]`);
    if (part['type'] !== 'text') return [toMediaPart(part, `${path}[${index}]`)];
    const { text } = part;
    return typeof text === 'string' && text !== '' ? [{ text }] : [];
  });
}

/** The texts of a string or of text parts, without empty texts, which the upstream refuses. */
function textsOf(content: unknown, path: string): string[] {
  if (content == null || content === '') return [];
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) throw unsupported(path);
  return content.flatMap((part: unknown, index): string[] => {
    const { type, text, refusal } = isJsonObject(part) ? part : {};
    const written = type === 'text' ? text : type === 'refusal' ? refusal : null;
    if (typeof written !== 'string') throw unsupported(`${path}[${index}]`);
    return written === '' ? [] : [written];
  });
}
