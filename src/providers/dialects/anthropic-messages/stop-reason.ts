import type { FinishReason } from '../../contract/chat-event';
import { isJsonObject } from '../../kit/json';
import { toSafeText } from '../../kit/safe-text';

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons; reasons not listed count as `stop`. */
const REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

export function toFinishReason(stopReason: unknown): FinishReason {
  return REASONS.get(stopReason) ?? 'stop';
}

/**
 * The explanation of a refusal, safe for clients; `null` when none is given. A classifier writes it, so it is not
 * output: the vendor bills only what the model wrote before
 * (https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback).
 */
export function refusalOf(details: unknown): string | null {
  const explanation = isJsonObject(details) ? details['explanation'] : null;
  const text = typeof explanation === 'string' ? toSafeText(explanation) : '';
  return text === '' ? null : text;
}
