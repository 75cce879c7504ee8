export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/**
 * The items of an answer grow by text that is written as the inside of a JSON string from the start: it goes into deltas
 * and, once more, into the whole item, and is encoded once for both.
 */
export interface OutputItem {
  readonly id: string;
  /** Its place in `output`. */
  readonly index: number;
  /** The item as JSON. */
  json(status: ItemStatus): string;
}

export type PartType = 'output_text' | 'refusal';

/** A piece of a message: text, or a refusal to write it. */
export class ContentPart {
  constructor(
    readonly type: PartType,
    readonly index: number,
    /** Inside of a JSON string. */
    public text = '',
  ) {}

  json(): string {
    return this.type === 'refusal'
      ? `{"type":"refusal","refusal":"${this.text}"}`
      : `{"type":"output_text","annotations":[],"logprobs":[],"text":"${this.text}"}`;
  }
}

export class MessageItem implements OutputItem {
  readonly id: string;
  readonly parts: ContentPart[] = [];

  constructor(
    responseKey: string,
    readonly index: number,
  ) {
    this.id = `msg_${responseKey}_${index}`;
  }

  addPart(type: PartType, text?: string): ContentPart {
    const part = new ContentPart(type, this.parts.length, text);
    this.parts.push(part);
    return part;
  }

  json(status: ItemStatus): string {
    const content = this.parts.map((part) => part.json()).join(',');
    return `{"id":"${this.id}","type":"message","role":"assistant","status":"${status}","content":[${content}]}`;
  }
}

export class FunctionCallItem implements OutputItem {
  readonly id: string;
  private readonly head: string;

  constructor(
    responseKey: string,
    readonly index: number,
    callId: string,
    readonly name: string,
    /** Inside of a JSON string. */
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

/** `text` as the inside of a JSON string. */
export function insideOf(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
