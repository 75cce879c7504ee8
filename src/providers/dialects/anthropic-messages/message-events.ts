import type { ChatEvent, UrlCitation } from '../../contract/chat-event';
import type { CallTrace } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../kit/json';
import { mapInBandError } from '../../kit/upstream-errors';
import type { ChatStreamState, EventTranslator } from '../../kit/upstream-stream';
import { toCreated } from '../openai-chat/chat-reply';
import { toAnnotations } from './citations';
import { parseExactly } from './exact-json';
import { toCompletionId } from './from-message';
import type { JsonObjectText } from './json-object';
import type { AnswerBlock } from './reasoning-state';
import { refusalOf, toFinishReason } from './stop-reason';
import { mergeUsage, toMessagesUsage } from './usage';

/** A tool call as it arrives. */
interface CallBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  /** Position among the calls of the answer; the upstream's index counts blocks of all kinds. */
  readonly index: number;
  /** Arguments that came with the start of the block. */
  readonly given: unknown;
  json: string;
}

interface TextPieces {
  readonly type: 'text';
  text: string;
}

interface ThinkingPieces {
  readonly type: 'thinking';
  thinking: string;
  signature: string;
}

type OpenBlock =
  CallBlock | TextPieces | ThinkingPieces | { readonly type: 'redacted_thinking'; readonly data: string };

/**
 * Translates the upstream's events (https://platform.claude.com/docs/en/build-with-claude/streaming) into typed events.
 * The answer starts with its first block, so an error directly after `message_start` still allows failover.
 */
export class MessageEventTranslator implements EventTranslator<readonly ChatEvent[]> {
  /** By the upstream's index, in the order in which they begin. */
  private readonly blocks = new Map<number, OpenBlock>();
  private id: unknown;
  private usage: JsonObject = {};
  private calls = 0;
  /** Length of the answer's text so far, in UTF-16 units. */
  private textLength = 0;
  /** Sources of completed text blocks. */
  private sources: UrlCitation[] = [];
  /** Citations of the text block that is open. */
  private citations: unknown[] = [];

  private kept: Promise<void> | null = null;

  /**
   * @param keep stores the reasoning of the whole answer; `null` when there is none. Must not reject.
   * @param object as for `fromMessage`
   * @param trace of the call; absent: it is not traced
   */
  constructor(
    private readonly state: ChatStreamState,
    private readonly keep: (blocks: readonly AnswerBlock[]) => Promise<void> | null,
    private readonly object: JsonObjectText | null,
    private readonly trace?: CallTrace,
  ) {}

  /** Waits until the reasoning is stored, since the client's next request may follow at once. */
  async finish(): Promise<void> {
    await this.kept;
  }

  /** @throws ProviderError for an error inside the stream, or an event that is not a JSON object */
  translate(data: Buffer): readonly ChatEvent[] | null {
    const event = parse(data);
    if (event['type'] === 'error') throw mapInBandError(event, 'first_token');
    if (this.state.finishReason !== null && event['type'] !== 'message_stop') return null;
    switch (event['type']) {
      case 'message_start':
        return this.begin(event['message']);
      case 'content_block_start':
        return this.openBlock(event);
      case 'content_block_delta':
        return this.addDelta(event);
      case 'content_block_stop':
        return this.closeBlock(event);
      case 'message_delta':
        return this.end(event);
      case 'message_stop':
        this.state.done = true;
        return null;
      default:
        // `ping`, and event types that the upstream may add.
        return null;
    }
  }

  private begin(message: unknown): null {
    if (!isJsonObject(message)) return null;
    this.id = message['id'];
    this.trace?.noteModel(message['model']);
    this.usage = mergeUsage(this.usage, message['usage']);
    this.state.usage = toMessagesUsage(this.usage);
    return null;
  }

  private openBlock({ index, content_block: block }: JsonObject): readonly ChatEvent[] {
    const events = this.start();
    if (!isJsonObject(block) || typeof index !== 'number') return events;
    const { type, text, thinking, data, id, name, input, citations } = block;
    if (type === 'text') {
      const opened: TextPieces = { type, text: '' };
      this.citations = Array.isArray(citations) ? [...(citations as unknown[])] : [];
      this.blocks.set(index, opened);
      this.addText(events, opened, text);
    } else if (type === 'thinking') {
      const opened: ThinkingPieces = { type, thinking: '', signature: '' };
      this.blocks.set(index, opened);
      this.addThinking(events, opened, thinking);
    } else if (type === 'redacted_thinking' && typeof data === 'string') {
      this.blocks.set(index, { type, data });
    } else if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string') {
      const call: CallBlock = { type, id, name, index: this.calls++, given: input, json: '' };
      this.blocks.set(index, call);
      this.state.callsTools = true;
      this.cite(events);
      events.push({ type: 'tool_call', index: call.index, id, kind: 'function', name });
    }
    return events;
  }

  private addDelta({ index, delta }: JsonObject): readonly ChatEvent[] | null {
    const block = typeof index === 'number' ? this.blocks.get(index) : undefined;
    if (block === undefined || !isJsonObject(delta)) return null;
    const events: ChatEvent[] = [];
    const { partial_json: json, signature, citation } = delta;
    if (block.type === 'text') {
      this.addText(events, block, delta['text']);
      if (citation !== undefined) this.citations.push(citation);
    } else if (block.type === 'thinking') {
      this.addThinking(events, block, delta['thinking']);
      if (typeof signature === 'string') block.signature += signature;
    } else if (block.type === 'tool_use' && typeof json === 'string') this.addInput(events, block, json);
    return events.length === 0 ? null : events;
  }

  /** A call without arguments has no deltas, so its input is taken from the start of the block. */
  private closeBlock({ index }: JsonObject): readonly ChatEvent[] | null {
    const block = typeof index === 'number' ? this.blocks.get(index) : undefined;
    if (block?.type === 'text') {
      const span = { start_index: this.textLength - block.text.length, end_index: this.textLength };
      this.sources.push(...toAnnotations(this.citations, span));
      this.citations = [];
    }
    if (block?.type !== 'tool_use' || block.json !== '') return null;
    const events: ChatEvent[] = [];
    this.addInput(events, block, JSON.stringify(block.given ?? {}));
    return events;
  }

  private end({ delta, usage }: JsonObject): readonly ChatEvent[] | null {
    this.usage = mergeUsage(this.usage, usage);
    this.state.usage = toMessagesUsage(this.usage);
    const { stop_reason: stopReason, stop_details: details } = isJsonObject(delta) ? delta : {};
    if (typeof stopReason !== 'string') return null;
    this.object?.check(stopReason);
    const events = this.start();
    const refusal = refusalOf(details);
    if (refusal !== null) events.push({ type: 'refusal', text: refusal });
    this.cite(events);
    const named = toFinishReason(stopReason);
    const reason = named === 'tool_calls' && this.calls === 0 ? 'stop' : named;
    this.kept = this.keep(this.answer());
    this.state.finishReason = reason;
    this.state.usageIsFinal = this.state.usage !== null;
    events.push({ type: 'finish', reason });
    if (this.state.usage !== null) events.push({ type: 'usage', usage: this.state.usage });
    return events;
  }

  /** The event of the first block. */
  private start(): ChatEvent[] {
    const { state } = this;
    if (state.started) return [];
    state.started = true;
    state.id = toCompletionId(this.id);
    state.created = toCreated(undefined);
    return [{ type: 'start', id: state.id, created: state.created }];
  }

  /**
   * Emits all sources so far at once, since clients may keep only one list. Must precede the end of a call, which ends
   * the message that the sources belong to.
   */
  private cite(events: ChatEvent[]): void {
    for (const annotation of this.sources) events.push({ type: 'annotation', annotation });
    this.sources = [];
  }

  private addText(events: ChatEvent[], block: TextPieces, written: unknown): void {
    if (typeof written !== 'string') return;
    const text = this.object === null ? written : this.object.add(written);
    if (text === '') return;
    block.text += text;
    this.textLength += text.length;
    this.state.generatedBytes += Buffer.byteLength(text);
    events.push({ type: 'text', text });
  }

  private addThinking(events: ChatEvent[], block: ThinkingPieces, text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    block.thinking += text;
    this.state.generatedBytes += Buffer.byteLength(text);
    events.push({ type: 'reasoning', text });
  }

  private addInput(events: ChatEvent[], block: CallBlock, text: string): void {
    if (text === '') return;
    block.json += text;
    this.state.generatedBytes += Buffer.byteLength(text);
    events.push({ type: 'tool_input', index: block.index, text });
  }

  /** Empty if the arguments of a call are not JSON: the client cannot return such a call either. */
  private answer(): AnswerBlock[] {
    try {
      return [...this.blocks.values()].map((block) => (block.type === 'tool_use' ? toToolUse(block) : block));
    } catch {
      return [];
    }
  }
}

function toToolUse({ type, id, name, json }: CallBlock): AnswerBlock {
  return { type, id, name, input: parseExactly(json) };
}

function parse(data: Buffer): JsonObject {
  const event = parseJsonObject(data);
  if (event !== null) return event;
  throw new ProviderError('provider_error', 'The provider sent an event that is not a JSON object.', {
    phase: 'first_token',
    fallback: true,
  });
}
