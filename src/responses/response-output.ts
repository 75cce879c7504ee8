import { isUrlCitation } from '../providers/contract/chat-event';
import {
  type CallItem,
  CustomToolCallItem,
  type EndStatus,
  FunctionCallItem,
  insideOf,
  MessageItem,
  type OutputItem,
} from './output-items';
import type { IncompleteReason } from './response-object';

/** The choice of a provider's non-streamed reply. */
export interface ChatAnswer {
  readonly message: {
    readonly content?: string | null;
    readonly refusal?: string | null;
    readonly tool_calls?: readonly ToolCall[];
    readonly annotations?: readonly unknown[];
  };
  readonly finish_reason: string | null;
}

interface ToolCall {
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
  /** Replaces `function` in a custom tool call. */
  readonly custom?: { readonly name?: string; readonly input?: string };
}

/** The items of a non-streamed reply; at least one: an empty reply is an empty message. */
export function toOutput({ message }: ChatAnswer, responseKey: string): OutputItem[] {
  const items: OutputItem[] = [];
  const { content, refusal, tool_calls: calls = [], annotations = [] } = message;
  if (content || refusal || calls.length === 0) {
    const item = new MessageItem(responseKey, 0);
    if (content || !refusal) {
      const part = item.addPart('output_text', insideOf(content ?? ''));
      for (const annotation of annotations.filter(isUrlCitation)) part.annotate(annotation, 0);
    }
    if (refusal) item.addPart('refusal', insideOf(refusal));
    items.push(item);
  }
  for (const call of calls) items.push(toCallItem(call, responseKey, items.length));
  return items;
}

function toCallItem({ id = '', function: called, custom }: ToolCall, key: string, index: number): CallItem {
  if (custom !== undefined) {
    return new CustomToolCallItem(key, index, id, custom.name ?? '', insideOf(custom.input ?? ''));
  }
  return new FunctionCallItem(key, index, id, called?.name ?? '', insideOf(called?.arguments ?? ''));
}

/** Why a response is incomplete; `undefined` when it is complete. */
export function incompleteReasonOf(finishReason: string | null): IncompleteReason | undefined {
  if (finishReason === 'length') return 'max_output_tokens';
  return finishReason === 'content_filter' ? 'content_filter' : undefined;
}

/**
 * The items of an ended response as JSON. In a truncated one, the last item is incomplete unless it was done before.
 */
export function endedItems(items: readonly OutputItem[], truncated: boolean): string {
  return items.map((item) => item.json(endedStatus(item, items, truncated))).join(',');
}

export function endedStatus(
  { index, ended }: OutputItem,
  { length }: readonly OutputItem[],
  truncated: boolean,
): EndStatus {
  if (ended !== undefined) return ended;
  return truncated && index === length - 1 ? 'incomplete' : 'completed';
}
