import type { Bill, PricedText, RenderedAnswer } from '../inference/inference.types';
import { measureMessages, measureText, type PromptMeasure } from '../inference/token-estimate';
import type { CatalogModel } from '../models/catalog-model';
import type { ChatCompletionBody, ChatRequest, StreamProgress } from '../providers/contract/chat';

/** Measures the prompt of a chat request. */
export function measureChat(request: ChatRequest): PromptMeasure {
  const measure = { textBytes: 0, fixedTokens: 0 };
  measureMessages(request.messages, measure);
  measureText(request['tools'], measure);
  measureText(request['functions'], measure);
  measureText(request['response_format'], measure);
  return measure;
}

/** The most tokens that the model may write. */
export function outputLimit(request: ChatRequest, model: CatalogModel, defaultMaxOutputTokens: number): number {
  const modelLimit = model.maxOutputTokens ?? Number.MAX_SAFE_INTEGER;
  const { max_tokens: legacy, max_completion_tokens: current } = request;
  if (legacy == null && current == null) return Math.min(modelLimit, defaultMaxOutputTokens);
  return Math.min(modelLimit, legacy ?? Number.MAX_SAFE_INTEGER, current ?? Number.MAX_SAFE_INTEGER);
}

/** `usage` in the chat-completion shape, with the gateway's extensions except the cost. */
interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; audio_tokens: number };
  completion_tokens_details: { reasoning_tokens: number; audio_tokens: number };
  x_llm_usage_estimated?: true;
}

/** Sums the disjoint token classes: the wire format repeats cached and reasoning tokens in the details. */
function toChatUsage({ usage, usageEstimated }: Bill): ChatUsage {
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
    ...(usageEstimated && { x_llm_usage_estimated: true as const }),
  };
}

/** The provider's response with `usage` as its last field. */
export function renderCompletion(body: ChatCompletionBody, bill: Bill): RenderedAnswer {
  return { contentType: 'application/json; charset=utf-8', ...withUsage(JSON.stringify(body), bill, '') };
}

/** The chunk between the finish chunk and `[DONE]`. */
export function usageEvent(progress: StreamProgress, bill: Bill, { id: model }: CatalogModel): PricedText {
  const { id, created } = progress;
  const chunk = JSON.stringify({ id, object: 'chat.completion.chunk', created, model, choices: [] });
  return withUsage(`data: ${chunk}`, bill, '\n\n');
}

/** Adds `usage` to serialized JSON, with a gap for the cost as its last field. */
export function withUsage(json: string, bill: Bill, ending: string): PricedText {
  const usage = JSON.stringify(toChatUsage(bill));
  return {
    head: `${json.slice(0, -1)},"usage":${usage.slice(0, -1)},"x_llm_cost_micro":`,
    tail: `}}${ending}`,
  };
}
