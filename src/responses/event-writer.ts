import type { ErrorEnvelope } from '../core/errors/gateway-error';
import {
  type CallItem,
  type ContentPart,
  CustomToolCallItem,
  type ItemStatus,
  type MessageItem,
  type OutputItem,
} from './output-items';

/** Prefix of every event. */
export const EVENT_END = '}\n\n';

/**
 * Writes the numbered events of a response. Events are assembled from JSON text for speed: a stream has an event per
 * token, and its last events repeat the whole text.
 */
export class EventWriter {
  private written = '';

  /** @param sequence number of the next event */
  constructor(private sequence: number) {}

  /** A copy that continues from here without affecting this writer. */
  fork(): EventWriter {
    return new EventWriter(this.sequence);
  }

  /** Returns and clears the pending events. */
  take(): string {
    const { written } = this;
    this.written = '';
    return written;
  }

  /** Like {@link take}, but leaves the last event and its response open for more fields. */
  takeOpen(): string {
    return this.take().slice(0, -EVENT_END.length);
  }

  response(type: string, json: string): void {
    this.write(type, `"response":${json}`);
  }

  itemAdded(item: OutputItem): void {
    this.write('response.output_item.added', `"output_index":${item.index},"item":${item.json('in_progress')}`);
  }

  partAdded(item: MessageItem, part: ContentPart): void {
    this.write('response.content_part.added', `${partPlace(item, part)},"part":${part.json()}`);
  }

  delta(item: MessageItem, part: ContentPart, text: string): void {
    this.write(`response.${part.type}.delta`, `${partPlace(item, part)}${logprobsOf(part)},"delta":"${text}"`);
  }

  /** @param json the annotation, the last one of the part */
  annotation(item: MessageItem, part: ContentPart, json: string): void {
    const fields = `"annotation_index":${part.annotations.length - 1},"annotation":${json}`;
    this.write('response.output_text.annotation.added', `${partPlace(item, part)},${fields}`);
  }

  partDone(item: MessageItem, part: ContentPart): void {
    const place = partPlace(item, part);
    const field = part.type === 'refusal' ? 'refusal' : 'text';
    this.write(`response.${part.type}.done`, `${place}${logprobsOf(part)},"${field}":"${part.text}"`);
    this.write('response.content_part.done', `${place},"part":${part.json()}`);
  }

  callDelta(item: CallItem, text: string): void {
    this.write(`${callEvents(item)}.delta`, `${placeOf(item)},"delta":"${text}"`);
  }

  callDone(item: CallItem): void {
    if (item instanceof CustomToolCallItem) {
      this.write(`${callEvents(item)}.done`, `${placeOf(item)},"input":"${item.text}"`);
      return;
    }
    const fields = `${placeOf(item)},"name":${JSON.stringify(item.name)},"arguments":"${item.text}"`;
    this.write(`${callEvents(item)}.done`, fields);
  }

  itemDone(item: OutputItem, status: ItemStatus): void {
    this.write('response.output_item.done', `"output_index":${item.index},"item":${item.json(status)}`);
  }

  /**
   * The error envelope as an event with type and sequence number, which parsers of this format require.
   */
  error({ error }: ErrorEnvelope): void {
    const { code, message, param = null } = error;
    this.write('error', JSON.stringify({ code, message, param, error }).slice(1, -1));
  }

  private write(type: string, fields: string): void {
    this.written += `data: {"type":"${type}","sequence_number":${this.sequence++},${fields}${EVENT_END}`;
  }
}

function callEvents(item: CallItem): string {
  return item instanceof CustomToolCallItem ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
}

function placeOf({ id, index }: OutputItem): string {
  return `"item_id":"${id}","output_index":${index}`;
}

function partPlace(item: OutputItem, part: ContentPart): string {
  return `${placeOf(item)},"content_index":${part.index}`;
}

/** Always empty; the format requires the field in text events. */
function logprobsOf({ type }: ContentPart): string {
  return type === 'output_text' ? ',"logprobs":[]' : '';
}
