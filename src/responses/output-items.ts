import type { UrlCitation } from '../providers/contract/chat-event';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type EndStatus = Exclude<ItemStatus, 'in_progress'>;

/**
 * An item of a response. Items accumulate JSON-escaped text, which is encoded once and used both in deltas and in the
 * complete item.
 */
export interface OutputItem {
  readonly id: string;
  /** Index in `output`. */
  readonly index: number;
  /** Set once the item is done. */
  ended?: EndStatus;
  /** The item as JSON. */
  json(status: ItemStatus): string;
}

export type PartType = 'output_text' | 'refusal';

/** A piece of a message: text, or a refusal to write it. */
export class ContentPart {
  /** Sources of the text, as JSON. */
  readonly annotations: string[] = [];

  constructor(
    readonly type: PartType,
    readonly index: number,
    /** JSON-escaped, without quotes. */
    public text = '',
  ) {}

  /**
   * Adds a source and returns it as JSON.
   * @param offset where the part starts in the text of the answer
   */
  annotate({ type, url_citation: citation }: UrlCitation, offset: number): string {
    const { start_index: start, end_index: end, url, title } = citation;
    const json = JSON.stringify({ type, start_index: start - offset, end_index: end - offset, url, title });
    this.annotations.push(json);
    return json;
  }

  json(): string {
    return this.type === 'refusal'
      ? `{"type":"refusal","refusal":"${this.text}"}`
      : `{"type":"output_text","annotations":[${this.annotations.join(',')}],"logprobs":[],"text":"${this.text}"}`;
  }
}

export class MessageItem implements OutputItem {
  readonly id: string;
  readonly parts: ContentPart[] = [];
  ended?: EndStatus;
  private readonly head: string;

  /** @param phase the vendor's name for this step of the answer */
  constructor(
    responseKey: string,
    readonly index: number,
    phase?: string,
  ) {
    this.id = `msg_${responseKey}_${index}`;
    this.head = JSON.stringify({ id: this.id, type: 'message', role: 'assistant', phase }).slice(0, -1);
  }

  addPart(type: PartType, text?: string): ContentPart {
    const part = new ContentPart(type, this.parts.length, text);
    this.parts.push(part);
    return part;
  }

  json(status: ItemStatus): string {
    const content = this.parts.map((part) => part.json()).join(',');
    return `${this.head},"status":"${status}","content":[${content}]}`;
  }
}

export class FunctionCallItem implements OutputItem {
  readonly id: string;
  ended?: EndStatus;
  private readonly head: string;

  constructor(
    responseKey: string,
    readonly index: number,
    callId: string,
    readonly name: string,
    /** JSON-escaped, without quotes. */
    public text = '',
  ) {
    this.id = `fc_${responseKey}_${index}`;
    const fields = JSON.stringify({ id: this.id, type: 'function_call', call_id: callId, name });
    this.head = fields.slice(0, -1);
  }

  json(status: ItemStatus): string {
    return `${this.head},"arguments":"${this.text}","status":"${status}"}`;
  }
}

/** A call of a tool with text input. */
export class CustomToolCallItem implements OutputItem {
  readonly id: string;
  ended?: EndStatus;
  private readonly head: string;

  constructor(
    responseKey: string,
    readonly index: number,
    callId: string,
    readonly name: string,
    /** JSON-escaped, without quotes. */
    public text = '',
  ) {
    this.id = `ctc_${responseKey}_${index}`;
    this.head = JSON.stringify({ id: this.id, type: 'custom_tool_call', call_id: callId, name }).slice(0, -1);
  }

  json(status: ItemStatus): string {
    return `${this.head},"input":"${this.text}","status":"${status}"}`;
  }
}

export type CallItem = FunctionCallItem | CustomToolCallItem;

/** Escapes `text` for a JSON string, without quotes. */
export function insideOf(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
