import type { Bill, PricedText } from '../inference/inference.types';
import { inputTokensOf, outputTokensOf } from '../providers/contract/usage';

/** A response with usage, around the cost, its last field. `ending` closes the enclosing event. */
export function withUsage(jsonBeforeUsage: string, { usage, usageEstimated }: Bill, ending: string): PricedText {
  const input = inputTokensOf(usage);
  const output = outputTokensOf(usage);
  const json = JSON.stringify({
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.inputCacheRead,
      cache_write_tokens: usage.inputCacheWrite5m + usage.inputCacheWrite1h,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.outputReasoning },
    total_tokens: input + output,
    ...(usageEstimated && { x_llm_usage_estimated: true }),
  });
  return { head: `${jsonBeforeUsage}${json.slice(0, -1)},"x_llm_cost_micro":`, tail: `}}${ending}` };
}
