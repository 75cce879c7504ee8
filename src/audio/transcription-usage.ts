import type { Bill, PricedText } from '../inference/inference.types';
import { inputTokensOf, NO_USAGE, outputTokensOf, type UsageVector } from '../providers/contract/usage';

/** Above the vendors' tokens per second of audio, and per second of speech. */
const INPUT_TOKENS_PER_SECOND = 32;
const OUTPUT_TOKENS_PER_SECOND = 8;

/** Responses round to whole seconds, so smaller differences are ignored. */
const ROUNDING_SECONDS = 1;
/** A duration beyond these factors is in another unit, such as minutes or milliseconds. */
const [MIN_PLAUSIBLE_FACTOR, MAX_PLAUSIBLE_FACTOR] = [0.1, 100];
const MAX_SECONDS = 86_400;

/**
 * The seconds to charge: the measured duration, unless the provider reports another plausible one, which it charges the
 * operator.
 * @param measuredSeconds of the file that was sent to the provider.
 */
export function chargedSeconds(measuredSeconds: number, reportedSeconds: number | null): number {
  if (reportedSeconds === null || Math.abs(reportedSeconds - measuredSeconds) < ROUNDING_SECONDS)
    return measuredSeconds;
  const isPlausible =
    reportedSeconds >= measuredSeconds * MIN_PLAUSIBLE_FACTOR &&
    reportedSeconds <= Math.min(measuredSeconds * MAX_PLAUSIBLE_FACTOR, MAX_SECONDS);
  return isPlausible ? reportedSeconds : measuredSeconds;
}

/** Usage in seconds. */
export function secondsUsage(seconds: number): UsageVector {
  return { ...NO_USAGE, seconds };
}

/** The same with estimated tokens. */
export function estimateTranscription(ofSeconds: UsageVector, prompt: string, tokensPerByte: number): UsageVector {
  return {
    ...ofSeconds,
    inputText: Math.ceil(Buffer.byteLength(prompt) * tokensPerByte),
    inputAudio: Math.ceil(ofSeconds.seconds * INPUT_TOKENS_PER_SECOND),
    outputText: Math.ceil(ofSeconds.seconds * OUTPUT_TOKENS_PER_SECOND),
  };
}

/** The `usage` of a response in its billing unit, around its cost, which is the last field. */
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
