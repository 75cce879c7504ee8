import type { ChatDelta, ToolCallDelta } from '../chat/chat-frames';
import { FunctionCallItem, insideOf, type ItemStatus, MessageItem, type OutputItem } from './output-items';
import type { IncompleteReason } from './response-object';

/** A chat message as a provider's whole answer has it. */
export interface ChatAnswer {
  readonly message: ChatDelta;
  readonly finish_reason: string | null;
}

/** The items of a whole answer. There is at least one: an answer without any is an empty message. */
export function toOutput({ message }: ChatAnswer, responseKey: string): OutputItem[] {
  const items: OutputItem[] = [];
  const { content, refusal, tool_calls: calls = [] } = message;
  if (content || refusal || calls.length === 0) {
    const item = new MessageItem(responseKey, 0);
    if (content || !refusal) item.addPart('output_text', insideOf(content ?? ''));
    if (refusal) item.addPart('refusal', insideOf(refusal));
    items.push(item);
  }
  for (const call of calls) items.push(toCallItem(call, responseKey, items.length));
  return items;
}

/** An item for the first delta of a call, or for a whole one. */
export function toCallItem({ id = '', function: called }: ToolCallDelta, key: string, index: number): FunctionCallItem {
  return new FunctionCallItem(key, index, id, called?.name ?? '', insideOf(called?.arguments ?? ''));
}

/** Why an answer is not complete; `undefined` when it is. */
export function incompleteReasonOf(finishReason: string | null): IncompleteReason | undefined {
  if (finishReason === 'length') return 'max_output_tokens';
  return finishReason === 'content_filter' ? 'content_filter' : undefined;
}

/** The items of an answer that has ended, as JSON. One that was cut short was cut in its last item. */
export function endedItems(items: readonly OutputItem[], cutShort: boolean): string {
  return items.map((item) => item.json(endedStatus(item, items, cutShort))).join(',');
}

export function endedStatus({ index }: OutputItem, { length }: readonly OutputItem[], cutShort: boolean): ItemStatus {
  return cutShort && index === length - 1 ? 'incomplete' : 'completed';
}
