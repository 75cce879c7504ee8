import type { Quirks } from '../contract/provider-call';
import { NO_USAGE, type UsageVector } from '../contract/usage';
import { isJsonObject, type JsonObject } from './json';

/** Beyond any context window; keeps the arithmetic of prices exact. */
const MAX_TOKENS = 1_000_000_000;

/**
 * Converts the `usage` of a chat completion into disjoint classes.
 * @returns `null` when the totals are absent or implausible (negative, text), so that the caller estimates instead;
 *   details that exceed their total are reduced to it
 */
export function toUsageVector(usage: unknown, quirks: Pick<Quirks, 'reasoningExcluded'>): UsageVector | null {
  if (!isJsonObject(usage)) return null;
  const prompt = toTotal(usage['prompt_tokens']);
  const completion = toTotal(usage['completion_tokens'] ?? 0);
  if (prompt === null || completion === null) return null;
  return { ...NO_USAGE, ...inputClasses(prompt, usage), ...outputClasses(completion, usage, quirks) };
}

function inputClasses(prompt: number, usage: JsonObject): Partial<UsageVector> {
  const details = detailsOf(usage, 'prompt_tokens_details');
  // Alibaba: https://github.com/BerriAI/litellm/issues/40090; Perplexity: https://docs.perplexity.ai/api-reference
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = details;
  const cached = toCount(
    details['cached_tokens'] ??
      read ??
      usage['cached_tokens'] ??
      usage['prompt_cache_hit_tokens'] ??
      usage['num_cached_tokens'],
  );
  // More cached tokens than prompt tokens: this upstream counts the prompt without them.
  const exclusive = cached > prompt;
  let left = exclusive ? prompt : prompt - cached;
  const take = (value: unknown): number => {
    const taken = Math.min(toCount(value), left);
    left -= taken;
    return taken;
  };
  // OpenAI keeps the cache for 30 minutes or 12 hours; the classes are named after Anthropic's lifetimes, 5 minutes and
  // 1 hour.
  const longWrites = detailsOf(details, 'cache_write_tokens_details')['ttl_12h_tokens'];
  const inputCacheWrite1h = take(longWrites);
  const inputCacheWrite5m = take(toCount(details['cache_write_tokens'] ?? written) - inputCacheWrite1h);
  const inputImage = take(details['image_tokens']);
  const inputAudio = take(details['audio_tokens']);
  return { inputText: left, inputCacheRead: cached, inputCacheWrite5m, inputCacheWrite1h, inputImage, inputAudio };
}

function outputClasses(
  completion: number,
  usage: JsonObject,
  { reasoningExcluded }: Pick<Quirks, 'reasoningExcluded'>,
): Partial<UsageVector> {
  const details = detailsOf(usage, 'completion_tokens_details');
  const reasoning = toCount(details['reasoning_tokens'] ?? usage['reasoning_tokens']);
  const outputAudio = Math.min(toCount(details['audio_tokens']), completion);
  const outputImage = Math.min(toCount(details['image_tokens']), completion - outputAudio);
  const rest = completion - outputAudio - outputImage;
  if (reasoningExcluded === true) return { outputText: rest, outputReasoning: reasoning, outputAudio, outputImage };
  const outputReasoning = Math.min(reasoning, rest);
  return { outputText: rest - outputReasoning, outputReasoning, outputAudio, outputImage };
}

/** The object in `field`; empty when it is missing. */
export function detailsOf(usage: JsonObject, field: string): JsonObject {
  const details = usage[field];
  return isJsonObject(details) ? details : {};
}

/** A plausible total; `null` for anything else. */
export function toTotal(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 ? toCount(value) : null;
}

/** A count of tokens; invalid values count as zero. */
export function toCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(Math.trunc(value), MAX_TOKENS) : 0;
}
