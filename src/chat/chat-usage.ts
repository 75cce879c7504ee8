import { microToJson } from '../common/micro';
import type { Receipt } from '../inference/inference.types';
import type { StreamProgress } from '../providers/contract/chat';

/** `usage` in the chat-completion shape, with the gateway's extensions (contract 2.5). */
export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; audio_tokens: number };
  completion_tokens_details: { reasoning_tokens: number; audio_tokens: number };
  x_llm_cost_micro: number;
  x_llm_usage_estimated?: true;
}

/** Puts the disjoint classes together again: the wire format counts cached and reasoning tokens twice, in details. */
export function toChatUsage({ usage, chargedMicro, usageEstimated }: Receipt): ChatUsage {
  const prompt =
    usage.inputText +
    usage.inputCacheRead +
    usage.inputCacheWrite5m +
    usage.inputCacheWrite1h +
    usage.inputImage +
    usage.inputAudio;
  const completion = usage.outputText + usage.outputReasoning + usage.outputImage + usage.outputAudio;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: usage.inputCacheRead, audio_tokens: usage.inputAudio },
    completion_tokens_details: { reasoning_tokens: usage.outputReasoning, audio_tokens: usage.outputAudio },
    x_llm_cost_micro: microToJson(chargedMicro),
    ...(usageEstimated && { x_llm_usage_estimated: true as const }),
  };
}

/** The chunk between the finish chunk and `[DONE]` (decision *usage-chunk*). */
export function usageEvent(progress: StreamProgress, model: string, receipt: Receipt): string {
  const chunk = {
    id: progress.id,
    object: 'chat.completion.chunk',
    created: progress.created,
    model,
    choices: [],
    usage: toChatUsage(receipt),
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
