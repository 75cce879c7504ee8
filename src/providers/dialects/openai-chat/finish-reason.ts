import type { FinishReason } from '../../contract/chat-event';

/** Vendor variants of finish reasons (sheet A, rule 6). A reason in neither map counts as `stop`. */
const TRANSLATIONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'function_call'],
  ['model_length', 'length'],
  ['max_tokens', 'length'],
]);

const FAILURES: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource']);

/** Whether the generation failed, although the upstream ends the response cleanly. */
export function isFailedFinish(reason: unknown): boolean {
  return typeof reason === 'string' && FAILURES.has(reason);
}

/**
 * The standard finish reason.
 * @param calledTools the response contains tool calls, for which several upstreams still report `stop`
 * @param trusted the upstream's `stop` is kept even then
 */
export function toFinishReason(reason: string, calledTools: boolean, trusted: boolean): FinishReason {
  const known = TRANSLATIONS.get(reason) ?? 'stop';
  return known === 'stop' && calledTools && !trusted ? 'tool_calls' : known;
}
