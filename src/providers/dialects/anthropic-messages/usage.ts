import { NO_USAGE, type UsageVector } from '../../contract/usage';
import { isJsonObject, type JsonObject } from '../../kit/json';
import { toCount, toTotal } from '../../kit/usage';

/**
 * Converts `usage`. Its input tokens exclude the cache, and its output tokens include thinking
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance).
 * @returns `null` when a total is absent or implausible, so that the caller estimates
 */
export function toMessagesUsage(usage: unknown): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const input = toTotal(usage['input_tokens']);
  const output = toTotal(usage['output_tokens']);
  if (input === null || output === null) return null;
  const details = usage['output_tokens_details'];
  const outputReasoning = Math.min(toCount(isJsonObject(details) ? details['thinking_tokens'] : 0), output);
  return {
    ...NO_USAGE,
    inputText: input,
    inputCacheRead: toCount(usage['cache_read_input_tokens']),
    ...cacheWrites(usage),
    outputText: output - outputReasoning,
    outputReasoning,
  };
}

/** The usage of a stream so far. Counts are cumulative: later ones replace earlier ones, and `null` is ignored. */
export function mergeUsage(earlier: JsonObject, later: unknown): JsonObject {
  if (!isJsonObject(later)) return earlier;
  return { ...earlier, ...Object.fromEntries(Object.entries(later).filter(([, value]) => value != null)) };
}

/** Cache writes that the breakdown by lifetime does not include have the default lifetime of five minutes. */
function cacheWrites(usage: JsonObject): Pick<UsageVector, 'inputCacheWrite5m' | 'inputCacheWrite1h'> {
  const { cache_creation: breakdown } = usage;
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = isJsonObject(breakdown)
    ? breakdown
    : {};
  const inputCacheWrite1h = toCount(long);
  const total = Math.max(toCount(usage['cache_creation_input_tokens']), toCount(short) + inputCacheWrite1h);
  return { inputCacheWrite5m: total - inputCacheWrite1h, inputCacheWrite1h };
}
