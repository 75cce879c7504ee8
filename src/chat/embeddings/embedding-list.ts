import type { Bill, RenderedAnswer } from '../../inference/inference.types';
import { inputTokensOf } from '../../providers/contract/usage';

/** The response around its cost, from the list serialized by `writeVectors`. */
export function renderEmbeddingList(list: readonly Buffer[], model: string, bill: Bill): RenderedAnswer {
  const { usage, usageEstimated } = bill;
  const tokens = inputTokensOf(usage);
  const counts = JSON.stringify({
    prompt_tokens: tokens,
    total_tokens: tokens,
    ...(usageEstimated && { x_llm_usage_estimated: true }),
  });
  const end = `,"model":${JSON.stringify(model)},"usage":${counts.slice(0, -1)},"x_llm_cost_micro":`;
  const pieces = [Buffer.from('{"object":"list","data":'), ...list, Buffer.from(end)];
  return {
    contentType: 'application/json; charset=utf-8',
    head: list.length === 1 ? Buffer.concat(pieces) : pieces,
    tail: '}}',
  };
}
