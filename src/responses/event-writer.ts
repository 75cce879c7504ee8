import type { ErrorEnvelope } from '../common/errors/gateway-error';
import type { ContentPart, FunctionCallItem, ItemStatus, MessageItem, OutputItem } from './output-items';

/** Of every event. */
export const EVENT_END = '}\n\n';

/**
 * Writes the events of a response, each with its number. They are put together from text that is JSON already: a stream
 * has an event per token, and its last events repeat all of it.
 */
export class EventWriter {
  private written = '';

  /** @param sequence number of the next event */
  constructor(private sequence: number) {}

  /** A writer that goes on from here, and leaves this one where it is. */
  fork(): EventWriter {
    return new EventWriter(this.sequence);
  }

  /** What has been written since the last time. */
  take(): string {
    const { written } = this;
    this.written = '';
    return written;
  }

  /** The same, without the end of the last event and of the response in it: more is to be written there. */
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

  partDone(item: MessageItem, part: ContentPart): void {
    const place = partPlace(item, part);
    const field = part.type === 'refusal' ? 'refusal' : 'text';
    this.write(`response.${part.type}.done`, `${place}${logprobsOf(part)},"${field}":"${part.text}"`);
    this.write('response.content_part.done', `${place},"part":${part.json()}`);
  }

  argumentsDelta(item: FunctionCallItem, text: string): void {
    this.write('response.function_call_arguments.delta', `${placeOf(item)},"delta":"${text}"`);
  }

  argumentsDone(item: FunctionCallItem): void {
    const fields = `${placeOf(item)},"name":${JSON.stringify(item.name)},"arguments":"${item.text}"`;
    this.write('response.function_call_arguments.done', fields);
  }

  itemDone(item: OutputItem, status: ItemStatus): void {
    this.write('response.output_item.done', `"output_index":${item.index},"item":${item.json(status)}`);
  }

  /**
   * The error envelope (contract 6.3) as an event of this format, which has the first fields beside its own: parsers of
   * the format refuse an event without a type and a number.
   */
  error({ error }: ErrorEnvelope): void {
    const { code, message, param = null } = error;
    this.write('error', JSON.stringify({ code, message, param, error }).slice(1, -1));
  }

  private write(type: string, fields: string): void {
    this.written += `data: {"type":"${type}","sequence_number":${this.sequence++},${fields}${EVENT_END}`;
  }
}

function placeOf({ id, index }: OutputItem): string {
  return `"item_id":"${id}","output_index":${index}`;
}

function partPlace(item: OutputItem, part: ContentPart): string {
  return `${placeOf(item)},"content_index":${part.index}`;
}

/** Never filled here; text events have the field all the same, since the format says so. */
function logprobsOf({ type }: ContentPart): string {
  return type === 'output_text' ? ',"logprobs":[]' : '';
}
