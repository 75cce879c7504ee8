import type { Bill, PricedText } from '../inference/inference.types';
import { inputTokensOf, NO_USAGE, outputTokensOf, type UsageVector } from '../providers/contract/usage';

/** More than vendors count for a second of sound, and for what is said in it. */
const INPUT_TOKENS_PER_SECOND = 32;
const OUTPUT_TOKENS_PER_SECOND = 8;

/** What audio costs where its seconds are paid for. */
export function secondsUsage(seconds: number): UsageVector {
  return { ...NO_USAGE, seconds };
}

/** The same where tokens may count. */
export function estimateTranscription(ofSeconds: UsageVector, prompt: string, tokensPerByte: number): UsageVector {
  return {
    ...ofSeconds,
    inputText: Math.ceil(Buffer.byteLength(prompt) * tokensPerByte),
    inputAudio: Math.ceil(ofSeconds.seconds * INPUT_TOKENS_PER_SECOND),
    outputText: Math.ceil(ofSeconds.seconds * OUTPUT_TOKENS_PER_SECOND),
  };
}

/** A reply's `usage` around its cost, which is its last field: the unit that is paid for, and how much of it. */
export function usageText({ usage, usageEstimated }: Bill, tokensCount: boolean): PricedText {
  const counts = tokensCount ? tokenCounts(usage) : { type: 'duration', seconds: usage.seconds };
  const json = JSON.stringify({ ...counts, ...(usageEstimated && { x_llm_usage_estimated: true }) });
  return { head: `${json.slice(0, -1)},"x_llm_cost_micro":`, tail: '}' };
}

function tokenCounts(usage: UsageVector): object {
  const [input_tokens, output_tokens] = [inputTokensOf(usage), outputTokensOf(usage)];
  return {
    type: 'tokens',
    input_tokens,
    input_token_details: { text_tokens: input_tokens - usage.inputAudio, audio_tokens: usage.inputAudio },
    output_tokens,
    total_tokens: input_tokens + output_tokens,
  };
}
