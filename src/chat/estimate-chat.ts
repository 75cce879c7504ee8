import { measureMessages, measureText, type PromptMeasure } from '../inference/token-estimate';
import type { CatalogModel } from '../models/catalog-model';
import type { ChatRequest } from '../providers/contract/chat';

/** Measures the prompt of a chat request. */
export function measureChat(request: ChatRequest): PromptMeasure {
  const measure = { textBytes: 0, fixedTokens: 0 };
  measureMessages(request.messages, measure);
  measureText(request['tools'], measure);
  measureText(request['functions'], measure);
  measureText(request['response_format'], measure);
  return measure;
}

/** The most tokens that the model may write (decision *hold-text*). */
export function outputLimit(request: ChatRequest, model: CatalogModel, defaultMaxOutputTokens: number): number {
  const modelLimit = model.maxOutputTokens ?? Number.MAX_SAFE_INTEGER;
  const { max_tokens: legacy, max_completion_tokens: current } = request;
  if (legacy == null && current == null) return Math.min(modelLimit, defaultMaxOutputTokens);
  return Math.min(modelLimit, legacy ?? Number.MAX_SAFE_INTEGER, current ?? Number.MAX_SAFE_INTEGER);
}
