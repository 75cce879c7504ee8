/** The accents of finish reasons (sheet A, rule 6). What is in neither map is a plain stop. */
const TRANSLATIONS: ReadonlyMap<string, string> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'function_call'],
  ['model_length', 'length'],
  ['max_tokens', 'length'],
]);

const FAILURES: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource']);

/** Whether the upstream gave up, although it closes the answer in good order. */
export function isFailedFinish(reason: unknown): boolean {
  return typeof reason === 'string' && FAILURES.has(reason);
}

/**
 * The finish reason as the format knows it.
 * @param calledTools the answer holds tool calls: several upstreams say `stop` all the same
 * @param trusted the upstream's `stop` is believed even then
 */
export function toFinishReason(reason: string, calledTools: boolean, trusted: boolean): string {
  const known = TRANSLATIONS.get(reason) ?? 'stop';
  return known === 'stop' && calledTools && !trusted ? 'tool_calls' : known;
}
