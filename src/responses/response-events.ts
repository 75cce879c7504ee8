import type { GatewayError } from '../core/errors/gateway-error';
import type { Bill, PricedText } from '../inference/inference.types';
import type { ChatEvent, ToolCallInput, ToolCallStart, UrlCitation } from '../providers/contract/chat-event';
import {
  type CallItem,
  type ContentPart,
  CustomToolCallItem,
  type EndStatus,
  FunctionCallItem,
  insideOf,
  MessageItem,
  type OutputItem,
  type PartType,
} from './output-items';
import { EVENT_END, EventWriter } from './event-writer';
import { type ResponseObject, type ResponseState, withUsage } from './response-object';
import { endedItems, endedStatus, incompleteReasonOf } from './response-output';

/** The facts about an ended stream that its last events contain. */
export interface StreamEnd {
  readonly model: string;
  readonly finishReason: string | null;
  /** Unix seconds. */
  readonly endedAt: number;
  readonly bill: Bill;
}

/**
 * Translates a chat stream to the events of one response. Every item and part is added, grows, and is done, in this
 * order; sequence numbers have no gaps.
 *
 * Unless the upstream marks the end of items, a message is done when the model starts to call tools, and calls stay
 * open until the end, because upstreams may interleave them.
 */
export class ResponseEvents {
  private readonly events = new EventWriter(0);
  private model: string | null = null;
  private readonly items: (MessageItem | CallItem)[] = [];
  /** The message that text belongs to, and its last part. */
  private message: MessageItem | null = null;
  private part: ContentPart | null = null;
  private readonly calls = new Map<number, CallItem>();
  /** UTF-16 units of text, in all and before the last part. */
  private textLength = 0;
  private partOffset = 0;
  /** Sources that came before the text. */
  private earlySources: UrlCitation[] = [];

  constructor(private readonly response: ResponseObject) {}

  /** Translates events of the chat to events of the response; the first call also announces the response. */
  translate(events: readonly ChatEvent[], model: string): string {
    if (this.model === null) this.announce(model, this.events);
    this.model ??= model;
    for (const event of events) this.add(event);
    return this.events.take();
  }

  /** The items so far. */
  get output(): readonly OutputItem[] {
    return this.items;
  }

  /** The final events, with a gap for the cost. Leaves the state unchanged, because settlement can still fail. */
  complete({ model, finishReason, endedAt, bill }: StreamEnd): PricedText {
    const events = this.events.fork();
    const items = [...this.items];
    if (this.model === null) this.announce(model, events);
    if (items.length === 0) {
      const message = new MessageItem(this.response.key, 0);
      events.itemAdded(message);
      events.partAdded(message, message.addPart('output_text'));
      items.push(message);
    }
    const incompleteReason = incompleteReasonOf(finishReason);
    const cutShort = incompleteReason !== undefined;
    for (const item of items) {
      if (item.ended === undefined) finish(item, events, endedStatus(item, items, cutShort));
    }
    const status = cutShort ? 'incomplete' : 'completed';
    const output = endedItems(items, cutShort);
    const ended: ResponseState = cutShort
      ? { status, model, output, incompleteReason }
      : { status, model, output, completedAt: endedAt };
    events.response(`response.${status}`, this.response.jsonBeforeUsage(ended));
    return withUsage(events.takeOpen(), bill, EVENT_END);
  }

  /** The events of an interrupted stream: `response.failed`, if the response had begun, and the error. */
  fail(error: GatewayError, requestId: string): string {
    const { events, model } = this;
    if (model !== null) {
      const output = this.items.map((item) => item.json(item.ended ?? 'incomplete')).join(',');
      const response = this.response.json({ status: 'failed', model, output, failure: error.message });
      events.response('response.failed', response);
    }
    events.error(error.toEnvelope(requestId));
    return events.take();
  }

  private announce(model: string, events: EventWriter): void {
    const begun = this.response.json({ status: 'in_progress', model, output: '' });
    events.response('response.created', begun);
    events.response('response.in_progress', begun);
  }

  private add(event: ChatEvent): void {
    switch (event.type) {
      case 'text':
        return this.write('output_text', event.text);
      case 'refusal':
        return this.write('refusal', event.text);
      case 'annotation':
        return this.cite(event.annotation);
      case 'tool_call':
        return this.openCall(event);
      case 'tool_input':
        return this.writeInput(event);
      case 'message':
        this.openMessage(event.phase);
        return;
      case 'part':
        this.openPart(event.kind === 'text' ? 'output_text' : 'refusal');
        return;
      case 'message_end':
        return this.endMessage(event.complete);
      case 'tool_end':
        return this.endItem(this.calls.get(event.index), event.complete);
      // Reasoning has no equivalent.
      default:
    }
  }

  private write(type: PartType, text: string): void {
    if (text === '') return;
    const part = this.part?.type === type ? this.part : this.openPart(type);
    const json = insideOf(text);
    part.text += json;
    if (type === 'output_text') this.textLength += text.length;
    this.events.delta(this.message ?? this.openMessage(), part, json);
  }

  /** Drops a source whose part is done, because the part can no longer change. */
  private cite(source: UrlCitation): void {
    const { message, part, partOffset } = this;
    if (this.textLength === 0 && part === null) {
      this.earlySources.push(source);
    } else if (message !== null && part?.type === 'output_text' && source.url_citation.start_index >= partOffset) {
      this.events.annotation(message, part, part.annotate(source, partOffset));
    }
  }

  private openMessage(phase?: string): MessageItem {
    this.endMessage(true);
    const message = new MessageItem(this.response.key, this.items.length, phase);
    this.message = message;
    this.begin(message);
    return message;
  }

  private openPart(type: PartType): ContentPart {
    const message = this.message ?? this.openMessage();
    if (this.part !== null) this.events.partDone(message, this.part);
    const part = message.addPart(type);
    this.part = part;
    this.events.partAdded(message, part);
    if (type === 'output_text') {
      this.partOffset = this.textLength;
      for (const source of this.earlySources.splice(0)) this.cite(source);
    }
    return part;
  }

  private endMessage(complete: boolean): void {
    this.endItem(this.message, complete);
    this.message = null;
    this.part = null;
  }

  private writeInput({ index, text }: ToolCallInput): void {
    const call = this.calls.get(index);
    if (call === undefined || call.ended !== undefined || text === '') return;
    const json = insideOf(text);
    call.text += json;
    this.events.callDelta(call, json);
  }

  private openCall({ index, id, kind, name }: ToolCallStart): void {
    this.endMessage(true);
    const item = kind === 'custom' ? CustomToolCallItem : FunctionCallItem;
    const call = new item(this.response.key, this.items.length, id, name);
    this.calls.set(index, call);
    this.begin(call);
  }

  private begin(item: MessageItem | CallItem): void {
    this.items.push(item);
    this.events.itemAdded(item);
  }

  private endItem(item: MessageItem | CallItem | null | undefined, complete: boolean): void {
    if (item == null || item.ended !== undefined) return;
    item.ended = complete ? 'completed' : 'incomplete';
    finish(item, this.events, item.ended);
  }
}

function finish(item: MessageItem | CallItem, events: EventWriter, status: EndStatus): void {
  if (item instanceof MessageItem) {
    const part = item.parts.at(-1);
    if (part !== undefined) events.partDone(item, part);
  } else {
    events.callDone(item);
  }
  events.itemDone(item, status);
}
