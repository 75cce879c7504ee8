import { measureMessages, measureText, promptTokens, textUsage } from '../inference/token-estimate';
import type { CatalogModel } from '../models/catalog-model';
import type { ChatRequest } from '../providers/contract/chat';
import type { UsageVector } from '../providers/contract/usage';

/** What a chat request may use at most, as far as can be told before it runs (decision *hold-text*). */
export function estimateChat(request: ChatRequest, model: CatalogModel, defaultMaxOutputTokens: number): UsageVector {
  const measure = { textBytes: 0, fixedTokens: 0 };
  measureMessages(request.messages, measure);
  measureText(request['tools'], measure);
  measureText(request['functions'], measure);
  measureText(request['response_format'], measure);
  return textUsage(promptTokens(measure, model.tokensPerByte), outputLimit(request, model, defaultMaxOutputTokens));
}

function outputLimit(request: ChatRequest, model: CatalogModel, defaultMaxOutputTokens: number): number {
  const modelLimit = model.maxOutputTokens ?? Number.MAX_SAFE_INTEGER;
  const { max_tokens: legacy, max_completion_tokens: current } = request;
  if (legacy == null && current == null) return Math.min(modelLimit, defaultMaxOutputTokens);
  return Math.min(modelLimit, legacy ?? Number.MAX_SAFE_INTEGER, current ?? Number.MAX_SAFE_INTEGER);
}
