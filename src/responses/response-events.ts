import type { GatewayError } from '../core/errors/gateway-error';
import type { Bill, PricedText } from '../inference/inference.types';
import type { ChatEvent, ToolCallInput, ToolCallStart } from '../providers/contract/chat-event';
import {
  type CallItem,
  type ContentPart,
  CustomToolCallItem,
  FunctionCallItem,
  insideOf,
  type ItemStatus,
  MessageItem,
  type PartType,
} from './output-items';
import { EVENT_END, EventWriter } from './event-writer';
import { type ResponseObject, type ResponseState, withUsage } from './response-object';
import { endedItems, endedStatus, incompleteReasonOf } from './response-output';

/** The end of a stream, as needed for its last events. */
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
 * A message is done when the model starts to call tools. Calls stay open until the end: upstreams may interleave them.
 */
export class ResponseEvents {
  private readonly events = new EventWriter(0);
  private model: string | null = null;
  private readonly items: (MessageItem | CallItem)[] = [];
  private readonly openItems = new Set<MessageItem | CallItem>();
  private message: MessageItem | null = null;
  private readonly calls = new Map<number, CallItem>();

  constructor(private readonly response: ResponseObject) {}

  /** The events of the response for those of the chat; the first ones announce the response. */
  translate(events: readonly ChatEvent[], model: string): string {
    if (this.model === null) this.begin(model, this.events);
    this.model ??= model;
    for (const event of events) {
      if (event.type === 'text') this.write('output_text', event.text);
      else if (event.type === 'refusal') this.write('refusal', event.text);
      else if (event.type === 'tool_call') this.openCall(event);
      else if (event.type === 'tool_input') this.writeInput(event);
    }
    return this.events.take();
  }

  /** The final events, around the cost. Does not change the state, because settlement can still fail. */
  complete({ model, finishReason, endedAt, bill }: StreamEnd): PricedText {
    const events = this.events.fork();
    const items = [...this.items];
    const open = new Set(this.openItems);
    if (this.model === null) this.begin(model, events);
    if (items.length === 0) {
      const message = new MessageItem(this.response.key, 0);
      events.itemAdded(message);
      events.partAdded(message, message.addPart('output_text'));
      items.push(message);
      open.add(message);
    }
    const incompleteReason = incompleteReasonOf(finishReason);
    const cutShort = incompleteReason !== undefined;
    for (const item of items) {
      if (open.has(item)) finish(item, events, endedStatus(item, items, cutShort));
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
      const failed = (item: MessageItem | CallItem): string =>
        item.json(this.openItems.has(item) ? 'incomplete' : 'completed');
      const output = this.items.map(failed).join(',');
      const response = this.response.json({ status: 'failed', model, output, failure: error.message });
      events.response('response.failed', response);
    }
    events.error(error.toEnvelope(requestId));
    return events.take();
  }

  private begin(model: string, events: EventWriter): void {
    const begun = this.response.json({ status: 'in_progress', model, output: '' });
    events.response('response.created', begun);
    events.response('response.in_progress', begun);
  }

  private write(type: PartType, text: string): void {
    if (text === '') return;
    const { events } = this;
    const message = this.message ?? this.openMessage();
    const part = this.openPart(message, type);
    const json = insideOf(text);
    part.text += json;
    events.delta(message, part, json);
  }

  private openMessage(): MessageItem {
    const message = new MessageItem(this.response.key, this.items.length);
    this.message = message;
    this.add(message);
    return message;
  }

  private openPart(message: MessageItem, type: PartType): ContentPart {
    const current = message.parts.at(-1);
    if (current?.type === type) return current;
    if (current !== undefined) this.events.partDone(message, current);
    const part = message.addPart(type);
    this.events.partAdded(message, part);
    return part;
  }

  private writeInput({ index, text }: ToolCallInput): void {
    const call = this.calls.get(index);
    if (call === undefined || text === '') return;
    const json = insideOf(text);
    call.text += json;
    this.events.callDelta(call, json);
  }

  private openCall({ index, id, kind, name }: ToolCallStart): void {
    if (this.message !== null) {
      finish(this.message, this.events, 'completed');
      this.openItems.delete(this.message);
      this.message = null;
    }
    const item = kind === 'custom' ? CustomToolCallItem : FunctionCallItem;
    const call = new item(this.response.key, this.items.length, id, name);
    this.calls.set(index, call);
    this.add(call);
  }

  private add(item: MessageItem | CallItem): void {
    this.items.push(item);
    this.openItems.add(item);
    this.events.itemAdded(item);
  }
}

function finish(item: MessageItem | CallItem, events: EventWriter, status: ItemStatus): void {
  if (item instanceof MessageItem) {
    const part = item.parts.at(-1);
    if (part !== undefined) events.partDone(item, part);
  } else {
    events.callDone(item);
  }
  events.itemDone(item, status);
}
