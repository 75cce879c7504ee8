import { withUsage } from '../chat-usage';
import type { Bill, PricedText, RenderedAnswer } from '../../inference/inference.types';
import type { CatalogModel } from '../../models/catalog-model';
import type { StreamProgress } from '../../providers/contract/chat';
import type { CompletionBody } from '../../providers/contract/completions';
import { toCompletionId } from './completion-id';

/** The response with `usage` as its last field. */
export function renderCompletion(body: CompletionBody, bill: Bill): RenderedAnswer {
  return { contentType: 'application/json; charset=utf-8', ...withUsage(JSON.stringify(body), bill, '') };
}

/** The chunk between the finish chunk and `[DONE]` (decision *usage-chunk*). */
export function usageEvent({ id, created }: StreamProgress, bill: Bill, { id: model }: CatalogModel): PricedText {
  const chunk = { id: toCompletionId(id), object: 'text_completion', created, model, choices: [] };
  return withUsage(`data: ${JSON.stringify(chunk)}`, bill, '\n\n');
}
