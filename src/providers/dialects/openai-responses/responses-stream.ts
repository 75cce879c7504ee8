import type { AlternativeToken, ChatEvent, TokenLogprob } from '../../contract/chat-event';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { isJsonObject, type JsonObject } from '../../kit/json';
import {
  type ChatStreamState,
  type EventTranslator,
  type StreamOutput,
  type StreamRequest,
  UpstreamStream,
} from '../../kit/upstream-stream';
import { toCreated } from '../openai-chat/chat-reply';
import { storeSteps } from './reasoning-state';
import {
  finishReasonOf,
  isComplete,
  kindOf,
  mapResponseError,
  messageStart,
  objectsIn,
  parseDocument,
  partKindOf,
  separatorAfter,
  textOf,
  toAnnotation,
  toCallId,
  toCompletionId,
  usageOf,
} from './responses-reply';

type Events = readonly ChatEvent[];

const EVENTS: StreamOutput<Events> = {
  translatorFor: (call, state) => new ResponsesTranslator(call, state, false),
  join: (lists) => lists.flat(),
  // The last event repeats the whole answer with its encrypted reasoning.
  maxEventBytes: 8 * 1024 * 1024,
};

const ITEM_EVENTS: StreamOutput<Events> = {
  ...EVENTS,
  translatorFor: (call, state) => new ResponsesTranslator(call, state, true),
};

/** A stream of the Responses API as typed events of a chat. */
export function openResponsesEvents(request: StreamRequest): Promise<UpstreamStream<Events>> {
  return UpstreamStream.openStream(request, EVENTS);
}

/** The same with item events, which preserve the positions of messages, parts and calls. */
export function openItemEvents(request: StreamRequest): Promise<UpstreamStream<Events>> {
  return UpstreamStream.openStream(request, ITEM_EVENTS);
}

interface OpenCall {
  readonly index: number;
  /** Whether any input of the call has been passed on. */
  hasInput: boolean;
}

/** Translates upstream events one at a time. The stream starts with the first output, not with `response.created`. */
class ResponsesTranslator implements EventTranslator<Events> {
  /** The response as first announced. */
  private response: JsonObject = {};
  private readonly calls = new Map<unknown, OpenCall>();
  private reasoning = '';
  /** Length of the text so far, in UTF-16 units. */
  private textLength = 0;
  /** Offsets at which the parts begin in the text. */
  private readonly partOffsets = new Map<string, number>();
  /** Item events before the first output, held back because a stream must not start with them. */
  private held: ChatEvent[] = [];
  /** Complete items with their positions in the answer. */
  private readonly output: { readonly place: number; readonly item: JsonObject }[] = [];

  constructor(
    private readonly call: ProviderCall,
    private readonly state: ChatStreamState,
    private readonly withItems: boolean,
  ) {}

  /**
   * @returns `null` for an event that does not concern the client
   * @throws ProviderError for an error inside the stream, or an event that is not JSON
   */
  translate(bytes: Buffer): Events | null {
    const { state } = this;
    if (state.done) return null;
    if (bytes.toString('latin1') === '[DONE]') {
      state.done = true;
      return null;
    }
    const event = parseDocument(bytes);
    const events = this.read(event);
    if (events.length === 0) return null;
    if (state.started) return events;
    if (events.every(isItemEvent)) {
      this.held.push(...events);
      return null;
    }
    return [this.start(), ...this.held, ...events];
  }

  async finish(): Promise<void> {
    const items = this.output.toSorted((one, other) => one.place - other.place).map(({ item }) => item);
    await storeSteps(items, this.call);
  }

  private read(event: JsonObject): ChatEvent[] {
    switch (event['type']) {
      case 'response.created':
      case 'response.in_progress':
        this.response = isJsonObject(event['response']) ? event['response'] : {};
        this.call.trace?.noteModel(this.response['model']);
        return [];
      case 'response.output_text.delta':
        return this.text(event);
      case 'response.output_text.annotation.added':
        return this.annotation(event);
      case 'response.refusal.delta':
        return this.piece(textOf(event['delta']), (text) => ({ type: 'refusal', text }));
      case 'response.reasoning_summary_part.added':
      case 'response.content_part.added':
        return this.openPart(event);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.reasoningText(textOf(event['delta']));
      case 'response.output_item.added':
        return this.openItem(event);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.callInput(this.knownCall(event), textOf(event['delta']));
      case 'response.output_item.done':
        return this.closeItem(event);
      case 'response.completed':
      case 'response.incomplete':
        return this.end(event['response']);
      case 'response.failed':
        throw mapResponseError(failureOf(event));
      case 'error':
        // Flat as documented, or nested (https://github.com/openai/openai-dotnet/issues/881).
        throw mapResponseError(event['error'] ?? { ...event, type: undefined });
      default:
        if (event['error'] != null) throw mapResponseError(event['error']);
        return [];
    }
  }

  private start(): ChatEvent {
    const { state } = this;
    const { id, created_at: created, service_tier: serviceTier } = this.response;
    state.started = true;
    state.id = toCompletionId(id);
    state.created = toCreated(created);
    // If the tier is left to the provider, it is decided later.
    const isKnown = typeof serviceTier === 'string' && serviceTier !== 'auto';
    return { type: 'start', id: state.id, created: state.created, ...(isKnown && { serviceTier }) };
  }

  private text(event: JsonObject): ChatEvent[] {
    const logprobs = objectsIn(event['logprobs']).map(toTokenLogprob);
    const delta = textOf(event['delta']);
    this.partOffset(event);
    this.textLength += delta.length;
    return this.piece(delta, (text) => ({
      type: 'text',
      text,
      ...(logprobs.length > 0 && { logprobs }),
    }));
  }

  private annotation(event: JsonObject): ChatEvent[] {
    const { annotation: given } = event;
    if (!isJsonObject(given)) return [];
    return toAnnotation(given, this.partOffset(event)).map((annotation) => ({ type: 'annotation', annotation }));
  }

  /** The offset of a part: upstreams count from the start of the part, clients from the start of the answer. */
  private partOffset(event: JsonObject): number {
    const part = `${String(placeOf(event))}/${String(event['content_index'])}`;
    const known = this.partOffsets.get(part);
    if (known !== undefined) return known;
    this.partOffsets.set(part, this.textLength);
    return this.textLength;
  }

  private piece(text: string, toEvent: (text: string) => ChatEvent): ChatEvent[] {
    if (text === '') return [];
    this.state.generatedBytes += Buffer.byteLength(text);
    return [toEvent(text)];
  }

  private reasoningText(text: string): ChatEvent[] {
    this.reasoning += text;
    return this.piece(text, (piece) => ({ type: 'reasoning', text: piece }));
  }

  private openPart({ part }: JsonObject): ChatEvent[] {
    const type = isJsonObject(part) ? part['type'] : null;
    if (type === 'summary_text' || type === 'reasoning_text') return this.reasoningText(separatorAfter(this.reasoning));
    const kind = partKindOf(type);
    return this.withItems && kind !== null ? [{ type: 'part', kind }] : [];
  }

  private openItem(event: JsonObject): ChatEvent[] {
    const { item } = event;
    if (!isJsonObject(item) || item['type'] !== 'message') return this.openCall(event);
    return this.withItems ? [messageStart(item)] : [];
  }

  /** Calls are counted in the order in which they begin: a reasoning item may precede the first one. */
  private openCall(event: JsonObject): ChatEvent[] {
    const { item } = event;
    if (!isJsonObject(item)) return [];
    const kind = kindOf(item);
    if (kind === null) return [];
    const index = this.calls.size;
    this.calls.set(placeOf(event), { index, hasInput: false });
    this.state.callsTools = true;
    return [{ type: 'tool_call', index, id: toCallId(item['call_id']), kind, name: textOf(item['name']) }];
  }

  private knownCall(event: JsonObject): OpenCall {
    const call = this.calls.get(placeOf(event));
    if (call !== undefined) return call;
    throw new ProviderError('provider_error', 'The provider sent input for a tool call that it had not started.', {
      phase: 'first_token',
      fallback: true,
    });
  }

  private callInput(call: OpenCall, input: string): ChatEvent[] {
    if (input !== '') call.hasInput = true;
    return this.piece(input, (text) => ({ type: 'tool_input', index: call.index, text }));
  }

  /** Some upstreams send a call only as a whole, at its end. */
  private closeItem(event: JsonObject): ChatEvent[] {
    const { item, output_index: index } = event;
    if (!isJsonObject(item)) return [];
    this.output.push({ place: typeof index === 'number' ? index : this.output.length, item });
    const complete = isComplete(item);
    if (item['type'] === 'message') return this.withItems ? [{ type: 'message_end', complete }] : [];
    if (kindOf(item) === null) return [];
    const opened = this.calls.has(placeOf(event)) ? [] : this.openCall(event);
    const call = this.knownCall(event);
    const input = call.hasInput ? [] : this.callInput(call, textOf(item['arguments'] ?? item['input']));
    const ended: ChatEvent[] = this.withItems ? [{ type: 'tool_end', index: call.index, complete }] : [];
    return [...opened, ...input, ...ended];
  }

  private end(response: unknown): ChatEvent[] {
    const { state } = this;
    const ended = isJsonObject(response) ? response : {};
    if (this.response['id'] === undefined) this.response = ended;
    state.finishReason = finishReasonOf(ended, state.callsTools);
    state.usage = usageOf(ended);
    state.usageIsFinal = state.usage !== null;
    state.done = true;
    const finish: ChatEvent = { type: 'finish', reason: state.finishReason };
    return state.usage === null ? [finish] : [finish, { type: 'usage', usage: state.usage }];
  }
}

/** Perplexity's event contains the error directly (https://docs.perplexity.ai/api-reference). */
function failureOf({ response, error }: JsonObject): unknown {
  return error ?? (isJsonObject(response) ? response['error'] : null);
}

/** In chat completions both fields are always present; the upstream has them only in whole replies. */
function toTokenLogprob(token: JsonObject): TokenLogprob {
  return { ...withBytes(token), top_logprobs: objectsIn(token['top_logprobs']).map(withBytes) };
}

function withBytes(token: JsonObject): AlternativeToken {
  const { token: text, logprob, bytes = null } = token as JsonObject & AlternativeToken;
  return { token: text, logprob, bytes };
}

function isItemEvent({ type }: ChatEvent): boolean {
  return type === 'message' || type === 'part' || type === 'message_end' || type === 'tool_end';
}

/** Identifies an item within a stream. Item ids are not reliable: some hosts change them with every event. */
function placeOf({ output_index: index, item_id: itemId, item }: JsonObject): unknown {
  return index ?? itemId ?? (isJsonObject(item) ? item['id'] : undefined);
}
